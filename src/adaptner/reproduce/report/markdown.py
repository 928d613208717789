"""Renders a report page as Markdown with tables and folding sections, as code hosts show it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptner.reproduce.report.page import (
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


def render_markdown(page: ReportPage, figures: str = "plots") -> str:
    """Returns the page, which links its figures as files in the folder ``figures`` next to it."""
    parts = [f"# {_escape(page.title)}", _escape(page.source)]
    parts += [_block(block, figures) for block in page.lead]
    parts += [_section(section, figures) for section in page.sections]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section, figures: str) -> str:
    body = "\n\n".join(_block(block, figures) for block in section.blocks)
    title = _escape(section.title)
    if section.expanded:
        return f"## {title}\n\n{body}"
    return f"<details><summary><b>{title}</b></summary>\n\n{body}\n\n</details>"


def _block(block: Block, figures: str) -> str:
    if isinstance(block, Paragraph):
        return _escape(block.text)
    if isinstance(block, Bullets):
        return "\n".join(
            f"- **{_escape(subject)}**: {_escape(remark)}" if subject else f"- {_escape(remark)}"
            for subject, remark in block.items
        )
    if isinstance(block, Code):
        # The fence is longer than any run of backticks in the text, which could end it early.
        runs = re.findall(r"`+", block.text)
        fence = "`" * max(3, 1 + max(map(len, runs), default=0))
        return f"{fence}\n{printable(block.text, keep=chr(10))}\n{fence}"
    if isinstance(block, Figures):
        return "\n".join(f"![{_escape(f.caption)}]({figures}/{f.name})" for f in block.figures)
    return _table(block)


def _table(table: ReportTable) -> str:
    width = len(table.header)
    rule = ["---" if number < table.text_columns else "---:" for number in range(width)]
    rows = [[_heading(c) for c in table.header], rule, *(_row(row, width) for row in table.rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def _heading(cell: TableCell | str) -> str:
    cell = table_cell(cell)
    return _escape(cell.text) + (f" ({_escape(cell.second_line)})" if cell.second_line else "")


def _row(row: ReportRow, width: int) -> Sequence[str]:
    if row.kind == "group":
        return [f"**{_escape(table_cell(row.cells[0]).text)}**", *[""] * (width - 1)]
    return [_cell(cell) for cell in row.cells]


def _cell(cell: TableCell | str) -> str:
    cell = table_cell(cell)
    text = _escape(cell.text)
    if cell.bold and text:
        text = f"**{text}**"
    if cell.detail:
        text += f" {_escape(cell.detail)}"
    return f"{text} · {_escape(cell.second_line)}" if cell.second_line else text


def _escape(text: str) -> str:
    """Returns the text on one line, with the special characters of Markdown and HTML escaped."""
    plain = printable(text).strip()
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)
