"""A document as Markdown, in the dialect that code hosts show: tables, and details that fold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptner.reproduce.report.document import (
    Block,
    Bullets,
    Code,
    Figures,
    Paragraph,
    ReportPage,
    ReportRow,
    ReportTable,
    Section,
    TableCell,
    printable,
    table_cell,
)

_SPECIAL = re.compile(r"([\\`*_\[\]|~])")


def markdown_page(document: ReportPage, figures: str = "plots") -> str:
    """The whole file. Figures are linked as files in the folder ``figures`` beside it."""
    parts = [f"# {_text(document.title)}", _text(document.above)]
    parts += [_block(block, figures) for block in document.lead]
    parts += [_section(section, figures) for section in document.sections]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section, figures: str) -> str:
    body = "\n\n".join(_block(block, figures) for block in section.blocks)
    title = _text(section.title)
    if section.open:
        return f"## {title}\n\n{body}"
    return f"<details><summary><b>{title}</b></summary>\n\n{body}\n\n</details>"


def _block(block: Block, figures: str) -> str:
    if isinstance(block, Paragraph):
        return _text(block.words)
    if isinstance(block, Bullets):
        return "\n".join(
            f"- **{_text(about)}**: {_text(said)}" if about else f"- {_text(said)}"
            for about, said in block.items
        )
    if isinstance(block, Code):
        # A fence longer than any run of backticks inside, so that nothing can end it early.
        runs = re.findall(r"`+", block.text)
        fence = "`" * max(3, 1 + max(map(len, runs), default=0))
        lines = "\n".join(printable(line) for line in block.text.split("\n"))
        return f"{fence}\n{lines}\n{fence}"
    if isinstance(block, Figures):
        return "\n".join(f"![{_text(f.caption)}]({figures}/{f.name})" for f in block.figures)
    return _grid(block)


def _grid(grid: ReportTable) -> str:
    width = len(grid.header)
    rule = ["---" if number < grid.names else "---:" for number in range(width)]
    rows = [[_head(e) for e in grid.header], rule, *(_cells(row, width) for row in grid.rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def _head(cell: TableCell | str) -> str:
    found = table_cell(cell)
    under = f" ({_text(found.under)})" if found.under else ""
    return _text(found.text) + under


def _cells(row: ReportRow, width: int) -> Sequence[str]:
    if row.kind == "group":
        return [f"**{_text(table_cell(row.entries[0]).text)}**", *[""] * (width - 1)]
    return [_cell(e) for e in row.entries]


def _cell(cell: TableCell | str) -> str:
    found = table_cell(cell)
    shown = _text(found.text)
    if found.strong and shown:
        shown = f"**{shown}**"
    if found.aside:
        shown += f" {_text(found.aside)}"
    if found.under:
        shown += f" · {_text(found.under)}"
    return shown


def _text(text: str) -> str:
    """On one line, with nothing in it that Markdown or HTML would take for its own."""
    plain = printable(text).strip()
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)
