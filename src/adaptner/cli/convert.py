"""adaptner convert: one format or tag scheme to another, losing nothing without a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptner.cli.common import QuietFlag, info, warn
from adaptner.errors import UsageError
from adaptner.text.schemes import Scheme

if TYPE_CHECKING:
    from adaptner.formats.base import Format, LocatedDocument
    from adaptner.text.schemes import TagRepair
    from adaptner.types import Document


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="File to read (- is standard input).")
    ],
    target: Annotated[
        str, typer.Argument(metavar="OUT", help="File to write (- is standard output).")
    ],
    from_: Annotated[
        str | None, typer.Option("--from", help="Format of IN, if its ending does not tell.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="Format of OUT, if its ending does not tell.")
    ] = None,
    scheme: Annotated[
        Scheme | None,
        typer.Option(case_sensitive=False, help="Tag scheme of a CoNLL file (default BIO)."),
    ] = None,
    quiet: QuietFlag = False,
) -> None:
    """Convert a file to another format or tag scheme.

    Formats: conll, jsonl, text. Tags are read in any scheme (IOB1, BIO, BIOES). If anything
    cannot be converted, the place is named and no file is written.

    Example: adaptner convert train.jsonl train.conll --scheme BIOES
    """
    from adaptner.formats import find_format
    from adaptner.formats.conll import ConllFormat

    reader, writer = find_format(source, from_), find_format(target, to)
    if scheme is not None and not isinstance(writer, ConllFormat):
        raise UsageError(
            problem=f"--scheme is for CoNLL output, and {target} is {writer.name}",
            remedy="leave --scheme out, or write a .conll file",
        )

    def tell(line: int, repair: TagRepair) -> None:
        warn(f"{source}:{line}: {repair.found} read as {repair.corrected} ({repair.reason})", quiet)

    passing = _Passing(source, writer)
    documents = passing.through(reader.read_with_lines(source, tell))
    if isinstance(writer, ConllFormat):
        writer.write(documents, target, scheme or Scheme.BIO)
    else:
        writer.write(documents, target)
    for loss in passing.losses():
        warn(loss, quiet)
    info(f"{passing.documents} document(s), {passing.entities} entities -> {target}", quiet)


class _Passing:
    """Counts the documents on their way, and what the new format has no room for."""

    def __init__(self, source: str | Path, writer: Format) -> None:
        self._source = source
        self._writer = writer
        self.documents = self.entities = self._ids = self._scores = self._bare = 0

    def through(self, located_documents: Iterator[LocatedDocument]) -> Iterator[Document]:
        from adaptner.text.alignment import find_problems

        for located in located_documents:
            document = located.document
            if self._writer.name == "conll":
                # Here the line is still known; the writer would only know the document.
                for problem in find_problems(document, self._source, located.line):
                    raise problem
            self.documents += 1
            self.entities += len(document.entities)
            self._ids += bool(document.id)
            self._scores += sum(e.score is not None for e in document.entities)
            self._bare += not document.text.strip()
            yield document

    def losses(self) -> list[str]:
        if self._writer.name == "jsonl":
            return []
        counted = {
            "id(s)": self._ids,
            "score(s)": self._scores,
            "document(s) without a word": self._bare,
        }
        return [
            f"{count} {what} not written: {self._writer.name} has no place for them"
            for what, count in counted.items()
            if count
        ]
