"""The published table with ours beside it, and how often the two agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adaptner.reproduce.report.cells import (
    ABOVE,
    BELOW,
    MISSING,
    NOT_COMPARABLE,
    VERDICTS,
    WITHIN,
    ComparisonCell,
)
from adaptner.reproduce.report.compare import COMPARABLE, OVERALL, Comparison, ComparisonRow
from adaptner.reproduce.report.document import Block, Paragraph, ReportRow, ReportTable, TableCell
from adaptner.reproduce.tables.published import PublishedTable

SIGNS = {WITHIN: "≈", ABOVE: "▲", BELOW: "▼", NOT_COMPARABLE: "○", MISSING: "–"}
LEGEND = (
    "In each cell: our mean ± sd over draws, then the published figure with the verdict. "
    "≈ within the 95 % interval of our mean (Student's t); ▲ ours is above; ▼ ours is below; "
    "○ not comparable; – missing; (…) published only; † a known slip of the paper; ‡ fewer draws than asked for. Bold: "
    "our best at that size. The published figures come without an interval, so ▲ and ▼ are harsher "
    "than a test of two means."
)
_DIGITS = {"fraction": 3, "percent": 1, "count": 0}
_WIDE = 5  # columns; fewer would stand too far apart on a whole page


def main_blocks(comparison: Comparison) -> list[Block]:
    """The published table; before or after it our own corpora, whichever has something to show."""
    legend = Paragraph(LEGEND, quiet=True)
    grid = comparison_grid(comparison, comparison.main, comparison.names)
    if not comparison.own:
        return [legend, grid]
    own = comparison_grid(comparison, comparison.main, comparison.own_names)
    if comparison.filled(comparison.names):
        return [legend, grid, Paragraph("Corpora that the published table does not have:"), own]
    ours_first = Paragraph("No corpus at hand stands for a column of the published table. Ours:")
    return [legend, ours_first, own, Paragraph("The published table, for orientation:"), grid]


def comparison_grid(
    comparison: Comparison, lines: Sequence[ComparisonRow], names: Sequence[str] | None = None
) -> ReportTable:
    """One group of rows per level; rows that were not measured keep their published figures."""
    names = comparison.names if names is None else names
    rows: list[ReportRow] = []
    for level in dict.fromkeys(line.level for line in lines):
        group = [n for n in lines if n.level == level and (n.row is not None or _any(n, names))]
        if comparison.scored:
            rows.append(ReportRow([level.label], "group"))
        best = {name: _best(group, name) if comparison.scored else None for name in names}
        rows += [_row(comparison, line, best) for line in group]
    first = TableCell("method" if any(line.method for line in lines) else "tasks of")
    return ReportTable([first, *_header(comparison, names)], rows, wide=len(names) >= _WIDE)


def verdict_grid(comparison: Comparison) -> ReportTable:
    """Per method, over corpora and levels: how many cells got which verdict."""
    columns = comparison.columns if comparison.filled(comparison.names) else comparison.own
    counts: dict[str, Counter[str]] = {}
    for line in comparison.main:
        if line.measured and line.row is not None:
            count = counts.setdefault(line.label, Counter())
            count.update(line.cells[column.name].verdict for column in columns)
    header = ["method", *(f"{SIGNS[v]} {v}" for v in VERDICTS), "cells"]
    rows = [
        ReportRow([label, *(str(count[v] or "") for v in VERDICTS), str(count.total())])
        for label, count in counts.items()
    ]
    return ReportTable(header, rows)


def ours(value: float | None, comparison: Comparison) -> str:
    """A figure of ours in the table's unit, with the digits it deserves."""
    if value is None:
        return ""
    return f"{value * comparison.scale:.{_DIGITS.get(comparison.table.unit, 2)}f}"


def theirs(cell: ComparisonCell, comparison: Comparison) -> str:
    """A published figure as printed."""
    if cell.published is None:
        return ""
    table = comparison.table
    return f"{cell.published * comparison.scale:.{_decimals(table, cell.column)}f}"


def _decimals(table: PublishedTable, column: str) -> int:
    if column in (OVERALL, COMPARABLE) and table.overall_decimals is not None:
        return table.overall_decimals
    return table.decimals


def _header(comparison: Comparison, names: Sequence[str]) -> list[TableCell]:
    columns = {c.name: c for c in (*comparison.columns, *comparison.own)}
    sound = sum(not column.objection for column in comparison.columns)
    found = []
    for name in names:
        if name == COMPARABLE:
            tip = "mean over the corpora without ○; the published figure is computed from its row"
            found.append(TableCell("Overall", under=f"{sound} without ○", tip=tip))
        elif name not in columns:
            found.append(TableCell("Overall", under="mean of all"))
        else:
            column = columns[name]
            same = column.corpus is None or column.corpus.lower() == name.lower()
            objection = f"not comparable: {column.objection}" if column.objection else ""
            under = "" if same else str(column.corpus)
            found.append(TableCell(name + (" ○" if objection else ""), under=under, tip=objection))
    return found


def _row(comparison: Comparison, line: ComparisonRow, best: dict[str, float | None]) -> ReportRow:
    cells = [line.cells[name] for name in best]
    if not any(cell.values for cell in cells):
        reasons = dict.fromkeys(cell.reason for cell in cells)
        elsewhere = line.measured  # on corpora of another table
        label = TableCell(line.label, "" if elsewhere else "(not run)", tip="; ".join(reasons))
        figures = [
            TableCell(
                f"({theirs(c, comparison)}{_slip(c)})" if c.published is not None else "",
                tip=_tip(c),
            )
            for c in cells
        ]
        return ReportRow([label, *figures], "quiet")
    entries = [_entry(c, comparison, best[c.column]) for c in cells]
    if line.row is None:
        return ReportRow([TableCell(line.label, "(ours)", tip="not in the paper"), *entries])
    same = (line.method or "").lower() == line.label.lower()
    return ReportRow([TableCell(line.label, under="" if same else line.method or ""), *entries])


def _entry(cell: ComparisonCell, comparison: Comparison, best: float | None) -> TableCell:
    tip = _tip(cell, comparison)
    # Where the paper has no figure there is nothing to judge, and no sign for it.
    judged = cell.published is not None
    sign = SIGNS[cell.verdict] if judged and cell.values else ""
    under = f"{theirs(cell, comparison)}{_slip(cell)} {sign}".strip()
    if cell.mean is None:
        return TableCell(SIGNS[MISSING], under=under, tone=MISSING, tip=tip)
    few = "‡" if cell.n < comparison.request.draws else ""
    aside = f"±{ours(cell.sd, comparison)}{few}" if cell.sd is not None else f"one draw{few}"
    tone = cell.verdict if judged else ""
    return TableCell(ours(cell.mean, comparison), aside, under, tone, tip, cell.mean == best)


def _tip(cell: ComparisonCell, comparison: Comparison | None = None) -> str:
    said = [f"{cell.verdict}: {cell.reason}" if cell.reason else cell.verdict]
    if comparison is not None and cell.interval is not None:
        low, high = (ours(v, comparison) for v in (cell.interval.low, cell.interval.high))
        said.append(f"95 % interval {low} to {high}")
    if comparison is not None and cell.values and cell.results:
        said.append(f"{cell.n} of {max(cell.n, comparison.request.draws)} draws")
    said += [f"† {slip.note}" for slip in cell.slips]
    return "; ".join(said)


def _slip(cell: ComparisonCell) -> str:
    return "†" if cell.slips else ""


def _any(line: ComparisonRow, names: Sequence[str]) -> bool:
    return any(line.cells[name].values for name in names)


def _best(lines: Sequence[ComparisonRow], column: str) -> float | None:
    """Of two measured methods or more; one alone is not the best of anything."""
    means = [m for line in lines if (m := line.cells[column].mean) is not None]
    return max(means) if len(means) > 1 else None
