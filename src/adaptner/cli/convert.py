"""``adaptner convert``: convert a file to another format or tag scheme, reporting every loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adaptner.cli import options
from adaptner.cli.common import info, warn
from adaptner.errors import UsageError
from adaptner.text.schemes import Scheme

if TYPE_CHECKING:
    from adaptner.formats.base import Format, LocatedDocument
    from adaptner.text.schemes import TagRepair
    from adaptner.types import Document


def convert(
    source: Annotated[str, options.argument("IN", "File to read; - is standard input.")],
    target: Annotated[str, options.argument("OUT", "File to write; - is standard output.")],
    from_: options.FormatFrom = None,
    to: Annotated[
        str | None,
        options.file(
            "--to FORMAT", "Format of OUT: conll, jsonl or text.", show_default="by the ending"
        ),
    ] = None,
    scheme: Annotated[
        Scheme | None,
        options.file(
            "--scheme SCHEME",
            "Tag scheme of a CoNLL file: IOB1, BIO or BIOES.",
            case_sensitive=False,
            show_default="BIO",
        ),
    ] = None,
    quiet: options.QuietFlag = False,
) -> None:
    """Convert a file to another format or tag scheme.

    Tags are read in any of the schemes. If something cannot be converted, its line is reported and
    no file is written.

    Example: adaptner convert my.jsonl my.conll --scheme BIOES
    """
    from adaptner.formats import find_format
    from adaptner.formats.conll import ConllFormat

    reader, writer = find_format(source, from_), find_format(target, to)
    if scheme is not None and not isinstance(writer, ConllFormat):
        raise UsageError(
            problem=f"--scheme applies to CoNLL output, and {target} is {writer.name}",
            remedy="leave out --scheme, or write a .conll file",
        )

    def report(line: int, repair: TagRepair) -> None:
        warn(f"{source}:{line}: {repair.found} read as {repair.corrected} ({repair.reason})", quiet)

    counter = _DocumentCounter(source, writer)
    documents = counter.count(reader.read_with_lines(source, report))
    if isinstance(writer, ConllFormat):
        writer.write(documents, target, scheme or Scheme.BIO)
    else:
        writer.write(documents, target)
    for loss in counter.losses():
        warn(loss, quiet)
    info(f"{counter.documents} document(s), {counter.entities} entities -> {target}", quiet)


class _DocumentCounter:
    """Counts documents on their way to the writer, and what the new format cannot hold."""

    def __init__(self, source: str | Path, writer: Format) -> None:
        self._source = source
        self._writer = writer
        self.documents = self.entities = self._ids = self._scores = self._empty = 0

    def count(self, located_documents: Iterator[LocatedDocument]) -> Iterator[Document]:
        from adaptner.text.alignment import find_problems

        for located in located_documents:
            document = located.document
            if self._writer.name == "conll":
                # Checked here, where the line is known; the writer knows the document only
                for problem in find_problems(document, self._source, located.line):
                    raise problem
            self.documents += 1
            self.entities += len(document.entities)
            self._ids += bool(document.id)
            self._scores += sum(e.score is not None for e in document.entities)
            self._empty += not document.text.strip()
            yield document

    def losses(self) -> list[str]:
        if self._writer.name == "jsonl":
            return []
        counts = {
            "id(s)": self._ids,
            "score(s)": self._scores,
            "document(s) without a word": self._empty,
        }
        return [
            f"{count} {kind} not written: the format {self._writer.name} cannot hold them"
            for kind, count in counts.items()
            if count
        ]
