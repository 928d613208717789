"""Reading and writing annotated files in any of the formats in ``FORMATS``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from adaptner.errors import UnknownFormat
from adaptner.formats.base import Format, RepairCallback, ignore_repairs
from adaptner.formats.conll import ConllFormat
from adaptner.formats.jsonl import JsonLinesFormat
from adaptner.formats.lines import STANDARD
from adaptner.formats.text import PlainTextFormat
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, Sentence

FORMATS: dict[str, Format] = {
    f.name: f for f in (ConllFormat(), JsonLinesFormat(), PlainTextFormat())
}

__all__ = ["FORMATS", "detect_format", "find_format", "read", "read_sentences", "write"]


def read(
    path: str | Path, format: str | None = None, on_repair: RepairCallback = ignore_repairs
) -> Iterator[Document]:
    """Yields the documents of a file ("-": standard input).

    ``format`` is a name in ``FORMATS``; by default, the file ending determines it. ``on_repair``
    is called with the line number and the repair of each invalid tag.
    """
    return find_format(path, format).read(path, on_repair)


def read_sentences(path: str | Path, format: str | None = None) -> Iterator[Sentence]:
    """Yields the tokenised sentences of a file; misaligned entities raise with their line."""
    for located in find_format(path, format).read_with_lines(path):
        yield from to_sentences(located.document, path, located.line)


def write(documents: Iterable[Document], path: str | Path, format: str | None = None) -> None:
    """Writes a complete file ("-": standard output) or, if anything fails, none."""
    find_format(path, format).write(documents, path)


def detect_format(path: str | Path) -> str:
    """Returns the name of the format that the file ending belongs to, or raises UnknownFormat."""
    ending = Path(path).suffix.lower()
    for known in FORMATS.values():
        if ending in known.endings:
            return known.name
    given = "of standard input or output" if str(path) == STANDARD else "from the file ending"
    raise UnknownFormat(file=path, given=given, known=_known_formats())


def find_format(path: str | Path, format: str | None = None) -> Format:
    """Returns the format called ``format`` or, by default, the one of the file ending."""
    if format is None:
        return FORMATS[detect_format(path)]
    if format not in FORMATS:
        raise UnknownFormat(given=repr(format), known=_known_formats())
    return FORMATS[format]


def _known_formats() -> str:
    return ", ".join(f"{f.name} ({' '.join(f.endings)})" for f in FORMATS.values())
