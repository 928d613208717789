"""The content of a report page as data, which is then rendered as HTML and as Markdown.

All text here is plain. The renderers escape it, so that no name can break a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True)
class TableCell:
    """``detail`` follows ``text`` in small print, and ``second_line`` stands below both.

    ``tone`` selects a background colour. It only repeats what the text says, for readers who do
    not see colours. ``tooltip`` is shown in HTML only.
    """

    text: str = ""
    detail: str = ""
    second_line: str = ""
    tone: str = ""
    tooltip: str = ""
    bold: bool = False


@dataclass(frozen=True)
class ReportRow:
    """``kind`` is ``body``, ``muted`` (grey) or ``group`` (one cell that spans the table)."""

    cells: Sequence[TableCell | str]
    kind: str = "body"


@dataclass(frozen=True)
class ReportTable:
    """The first ``text_columns`` columns are aligned as text, the others as numbers."""

    block_type: ClassVar[str] = "table"
    header: Sequence[TableCell | str]
    rows: Sequence[ReportRow]
    text_columns: int = 1
    full_width: bool = False


@dataclass(frozen=True)
class Paragraph:
    block_type: ClassVar[str] = "paragraph"
    text: str
    muted: bool = False


@dataclass(frozen=True)
class Bullets:
    """``items`` are pairs of a subject, which may be empty, and a remark."""

    block_type: ClassVar[str] = "bullets"
    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    block_type: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Figure:
    """``name`` is the file name of the drawing next to a Markdown page."""

    svg: str
    name: str
    caption: str


@dataclass(frozen=True)
class Figures:
    block_type: ClassVar[str] = "figures"
    figures: Sequence[Figure]


Block = ReportTable | Paragraph | Bullets | Code | Figures


@dataclass(frozen=True)
class Section:
    """``expanded`` sections are visible without a click."""

    title: str
    blocks: Sequence[Block]
    expanded: bool = False


@dataclass(frozen=True)
class ReportPage:
    """``source`` is the line above the title, which names the paper. ``lead`` stands before all
    sections."""

    title: str
    source: str
    lead: Sequence[Block]
    sections: Sequence[Section] = field(default_factory=tuple)

    @property
    def figures(self) -> list[Figure]:
        blocks = [*self.lead, *(block for section in self.sections for block in section.blocks)]
        return [f for block in blocks if isinstance(block, Figures) for f in block.figures]


def table_cell(cell: TableCell | str) -> TableCell:
    return TableCell(cell) if isinstance(cell, str) else cell


def printable(text: str, keep: str = "") -> str:
    """Replaces control characters and halves of surrogate pairs by spaces, except those in
    ``keep``. Line breaks count as control characters."""
    return "".join(c if c.isprintable() or c in keep else " " for c in text)
