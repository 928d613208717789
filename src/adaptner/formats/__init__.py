"""Reading and writing annotated files; the registry of formats.

Adding a format is one file with a class that fulfils :class:`~adaptner.formats.base.Format`, and
its name in ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from adaptner.errors import UnknownFormat
from adaptner.formats.base import Format, RepairCallback, ignore_repairs
from adaptner.formats.conll import ConllFormat
from adaptner.formats.jsonl import JsonLinesFormat
from adaptner.formats.lines import STANDARD
from adaptner.formats.text import PlainTextFormat
from adaptner.types import Document

FORMATS: dict[str, Format] = {
    f.name: f for f in (ConllFormat(), JsonLinesFormat(), PlainTextFormat())
}

__all__ = ["FORMATS", "detect_format", "find_format", "read", "write"]


def read(
    path: str | Path, format: str | None = None, report: RepairCallback | None = None
) -> Iterator[Document]:
    """The documents of a file ("-": standard input), one after the other.

    ``format`` is a name from ``FORMATS``; without it the file's ending tells. ``report(line,
    repair)`` is called for each tag that had to be repaired.
    """
    return find_format(path, format).read(path, report or ignore_repairs)


def write(documents: Iterable[Document], path: str | Path, format: str | None = None) -> None:
    """Write a file ("-": standard output); it appears whole or, if anything fails, not at all."""
    find_format(path, format).write(documents, path)


def detect_format(path: str | Path) -> str:
    """The name of the format that a file's ending tells."""
    ending = Path(path).suffix.lower()
    for known in FORMATS.values():
        if ending in known.endings:
            return known.name
    given = "of standard input or output" if str(path) == STANDARD else "from its ending"
    raise UnknownFormat(file=path, given=given, known=_known())


def find_format(path: str | Path, format: str | None = None) -> Format:
    """The format called ``format``, or else the one that the ending of ``path`` tells."""
    if format is None:
        return FORMATS[detect_format(path)]
    if format not in FORMATS:
        raise UnknownFormat(given=repr(format), known=_known())
    return FORMATS[format]


def _known() -> str:
    return ", ".join(f"{f.name} ({' '.join(f.endings)})" for f in FORMATS.values())
