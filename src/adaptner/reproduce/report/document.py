"""A report as data, once, for both of its forms: HTML and Markdown are only ways to write it down.

All text here is plain: whoever writes it down escapes it, so that no name can break a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TableCell:
    """A cell of a table: ``text`` with an ``aside`` behind it and a line ``under`` it. ``tone``
    colours it (never alone: the text says the same), ``tip`` is shown when one points at it."""

    text: str = ""
    aside: str = ""
    under: str = ""
    tone: str = ""
    tip: str = ""
    strong: bool = False


@dataclass(frozen=True)
class ReportRow:
    """``kind``: body, quiet (of less weight) or group (one entry, across the table)."""

    entries: Sequence[TableCell | str]
    kind: str = "body"


@dataclass(frozen=True)
class ReportTable:
    """The first ``names`` columns hold words, the others numbers."""

    header: Sequence[TableCell | str]
    rows: Sequence[ReportRow]
    names: int = 1
    wide: bool = False  # the main table: as wide as the page


@dataclass(frozen=True)
class Paragraph:
    words: str
    quiet: bool = False


@dataclass(frozen=True)
class Bullets:
    """Each a pair: what it is about ("" for nothing) and what is said of it."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Figure:
    """``name`` becomes a file's name where figures are files."""

    svg: str
    name: str
    caption: str


@dataclass(frozen=True)
class Figures:
    figures: Sequence[Figure]


Block = ReportTable | Paragraph | Bullets | Code | Figures


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]
    open: bool = False  # shown without being asked for


@dataclass(frozen=True)
class ReportPage:
    title: str
    above: str  # a line over the title: where the table comes from
    lead: Sequence[Block]
    sections: Sequence[Section] = field(default_factory=tuple)

    @property
    def figures(self) -> list[Figure]:
        blocks = [*self.lead, *(block for section in self.sections for block in section.blocks)]
        return [f for block in blocks if isinstance(block, Figures) for f in block.figures]


def table_cell(cell: TableCell | str) -> TableCell:
    return TableCell(cell) if isinstance(cell, str) else cell


def printable(text: str) -> str:
    """On one line, without control characters and halves of surrogate pairs."""
    return "".join(c if c.isprintable() else " " for c in text)
