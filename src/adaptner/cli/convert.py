"""``adaptner convert``: convert a file to another format or tag scheme, reporting every loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from adaptner.cli import options
from adaptner.cli.common import info, warn
from adaptner.errors import UsageError
from adaptner.text.schemes import Scheme

if TYPE_CHECKING:
    from adaptner.formats.base import Format, LocatedDocument
    from adaptner.text.schemes import TagRepair
    from adaptner.types import Document

_LOSSES = ("id(s)", "score(s)", "document(s) without a word")  # JSON Lines holds them


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

    counts: Counter[str] = Counter()
    documents = _counted(reader.read_with_lines(source, report), source, writer, counts)
    if isinstance(writer, ConllFormat):
        writer.write(documents, target, scheme or Scheme.BIO)
    else:
        writer.write(documents, target)
    for kind in _LOSSES:
        if counts[kind] and writer.name != "jsonl":
            reason = f"the format {writer.name} cannot hold them"
            warn(f"{counts[kind]} {kind} not written: {reason}", quiet)
    info(f"{counts['document(s)']} document(s), {counts['entities']} entities -> {target}", quiet)


def _counted(
    located_documents: Iterator[LocatedDocument], source: str, writer: Format, counts: Counter[str]
) -> Iterator[Document]:
    """Counts documents on their way to the writer, and what its format may not hold."""
    from adaptner.text.alignment import find_problems

    for located in located_documents:
        document = located.document
        if writer.name == "conll":
            # Checked here, where the line is known; the writer knows the document only
            for problem in find_problems(document, source, located.line):
                raise problem
        counts["document(s)"] += 1
        counts["entities"] += len(document.entities)
        counts["id(s)"] += bool(document.id)
        counts["score(s)"] += sum(e.score is not None for e in document.entities)
        counts["document(s) without a word"] += not document.text.strip()
        yield document
