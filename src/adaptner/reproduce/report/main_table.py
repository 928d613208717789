"""The published table with our results in each cell, and the counts of verdicts."""

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
from adaptner.reproduce.report.page import Block, Paragraph, ReportRow, ReportTable, TableCell

SIGNS = {WITHIN: "≈", ABOVE: "▲", BELOW: "▼", NOT_COMPARABLE: "○", MISSING: "–"}
LEGEND = (
    "Each cell shows our mean ± standard deviation and, below it, the published figure with the "
    "verdict: ≈ the published figure lies within the 95 % interval of our mean; ▲ ours is above it; "
    "▼ ours is below it; ○ not comparable; – missing. (…) published figure only; † known error in "
    "the paper; ‡ fewer draws or bases than requested. Bold: our best method at that size. "
    "Published figures come without an interval, so ▲ and ▼ are stricter than a test of two means."
)
_CROSSED_LEGEND = (
    "Where all bases are adapted to all draws, ± is the root of the sum of two variances, whose roots "
    "stand in brackets: over draws (of means over bases) and over bases (of means over draws). The "
    "interval comes from drawing draws and bases anew, together; otherwise it is Student's t over draws."
)
_DIGITS = {"fraction": 3, "percent": 1, "count": 0}
_FULL_WIDTH_FROM = 5  # columns; fewer would be too far apart on a full page


def main_blocks(comparison: Comparison) -> list[Block]:
    """Returns the published table and the table of additional corpora, if there are any. The table
    with results comes first."""
    legend = Paragraph(" ".join((LEGEND, *_about_bases(comparison))), muted=True)
    published = comparison_table(comparison, comparison.main_rows, comparison.names)
    if not comparison.additional:
        return [legend, published]
    additional = comparison_table(comparison, comparison.main_rows, comparison.additional_names)
    if comparison.has_values(comparison.names):
        heading = Paragraph("Corpora that the published table does not have:")
        return [legend, published, heading, additional]
    return [
        legend,
        Paragraph("None of the corpora that were run is in the published table. Our results:"),
        additional,
        Paragraph("The published table, for orientation:"),
        published,
    ]


def _about_bases(comparison: Comparison) -> list[str]:
    """What a reader must know of ± where rows differ in the number of bases."""
    rows = [row for row in comparison.rows if row.measured and row.results]
    single = [row for row in rows if max(cell.bases for cell in row.cells.values()) == 1]
    spreads = [cell.spread for row in rows for cell in row.cells.values() if cell.spread]
    crossed = any(None not in (spread.sd_draws, spread.sd_bases) for spread in spreads)
    found = [_CROSSED_LEGEND] if crossed else []
    if single:
        whose = ", ".join(dict.fromkeys(f"{row.label} ({row.level.label})" for row in single))
        found.append(
            f"One base for each domain: {'all rows' if len(single) == len(rows) else whose}. Their ± and "
            "intervals are over draws alone and leave out how much another base would change; they get "
            "no p-values."
        )
    return found


def comparison_table(
    comparison: Comparison, rows: Sequence[ComparisonRow], names: Sequence[str] | None = None
) -> ReportTable:
    """Returns a group of rows per level. Rows without results show the published figures."""
    names = comparison.names if names is None else names
    shown: list[ReportRow] = []
    for level in dict.fromkeys(row.level for row in rows):
        group = [
            row
            for row in rows
            if row.level == level
            and (row.published is not None or any(row.cells[name].values for name in names))
        ]
        if comparison.has_scores:
            shown.append(ReportRow([level.label], "group"))
        best = {name: _best(group, name) if comparison.has_scores else None for name in names}
        shown += [_row(comparison, row, best) for row in group]
    first = TableCell("method" if any(row.method for row in rows) else "tasks of")
    header = [first, *_header(comparison, names)]
    return ReportTable(header, shown, full_width=len(names) >= _FULL_WIDTH_FROM)


def verdict_table(comparison: Comparison) -> ReportTable:
    """Returns the counts of verdicts per method, over corpora and levels."""
    measured = comparison.has_values(comparison.names)
    columns = comparison.columns if measured else comparison.additional
    counts: dict[str, Counter[str]] = {}
    for row in comparison.main_rows:
        if row.measured and row.published is not None:
            count = counts.setdefault(row.label, Counter())
            count.update(row.cells[column.name].verdict for column in columns)
    header = ["method", *(f"{SIGNS[v]} {v}" for v in VERDICTS), "cells"]
    rows = [
        ReportRow([label, *(str(count[v] or "") for v in VERDICTS), str(count.total())])
        for label, count in counts.items()
    ]
    return ReportTable(header, rows)


def format_ours(value: float | None, comparison: Comparison) -> str:
    """Returns one of our figures in the table's unit."""
    if value is None:
        return ""
    return f"{value * comparison.scale:.{_DIGITS.get(comparison.table.unit, 2)}f}"


def format_published(cell: ComparisonCell, comparison: Comparison) -> str:
    """Returns the published figure as printed, followed by † if it has a known error."""
    dagger = "†" if cell.slips else ""
    if cell.published is None:
        return dagger
    table = comparison.table
    decimals = table.decimals
    if cell.column in (OVERALL, COMPARABLE) and table.overall_decimals is not None:
        decimals = table.overall_decimals
    return f"{cell.published * comparison.scale:.{decimals}f}{dagger}"


def _header(comparison: Comparison, names: Sequence[str]) -> list[TableCell]:
    comparable = sum(not column.objection for column in comparison.columns)
    found = []
    for name in names:
        if name == COMPARABLE:
            tooltip = "mean over the corpora without ○; its published figure is computed by us"
            line = f"{comparable} without ○"
            found.append(TableCell("Overall", second_line=line, tooltip=tooltip))
        elif (column := comparison.column(name)) is None:
            found.append(TableCell("Overall", second_line="mean of all"))
        else:
            same = column.corpus is None or column.corpus.lower() == name.lower()
            sign = " ○" if column.objection else ""
            tooltip = f"not comparable: {column.objection}" if column.objection else ""
            line = "" if same else str(column.corpus)
            found.append(TableCell(name + sign, second_line=line, tooltip=tooltip))
    return found


def _row(comparison: Comparison, row: ComparisonRow, best: dict[str, float | None]) -> ReportRow:
    cells = [row.cells[name] for name in best]
    if not any(cell.values for cell in cells):
        return _published_only(comparison, row, cells)
    shown = [_cell(cell, comparison, best[cell.column]) for cell in cells]
    if row.published is None:
        return ReportRow([TableCell(row.label, "(ours)", tooltip="not in the paper"), *shown])
    same = (row.method or "").lower() == row.label.lower()
    return ReportRow([TableCell(row.label, second_line="" if same else row.method or ""), *shown])


def _published_only(
    comparison: Comparison, row: ComparisonRow, cells: Sequence[ComparisonCell]
) -> ReportRow:
    reasons = dict.fromkeys(cell.reason for cell in cells)
    # A row without results in this table may have some in the table of additional corpora.
    detail = "" if row.measured else "(not run)"
    figures = [
        TableCell(
            f"({format_published(cell, comparison)})" if cell.published is not None else "",
            tooltip=_tooltip(cell),
        )
        for cell in cells
    ]
    return ReportRow([TableCell(row.label, detail, tooltip="; ".join(reasons)), *figures], "muted")


def _cell(cell: ComparisonCell, comparison: Comparison, best: float | None) -> TableCell:
    tooltip = _tooltip(cell, comparison)
    # Without a published figure there is no verdict.
    has_verdict = cell.published is not None
    sign = SIGNS[cell.verdict] if has_verdict and cell.values else ""
    line = f"{format_published(cell, comparison)} {sign}".strip()
    if cell.mean is None:
        return TableCell(SIGNS[MISSING], second_line=line, tone=MISSING, tooltip=tooltip)
    request = comparison.request
    few = "‡" if cell.n < request.draws or cell.bases < request.bases else ""
    return TableCell(
        text=format_ours(cell.mean, comparison),
        detail=_deviation(cell, comparison) + few,
        second_line=line,
        tone=cell.verdict if has_verdict else "",
        tooltip=tooltip,
        bold=cell.mean == best,
    )


def _deviation(cell: ComparisonCell, comparison: Comparison) -> str:
    """What follows our mean: ± and, for crossed runs, what it is made of."""
    if cell.spread is None or cell.sd is None:
        return "one draw"
    text = f"±{format_ours(cell.sd, comparison)}"
    draws, bases = cell.spread.sd_draws, cell.spread.sd_bases
    if draws is None or bases is None:
        return text
    draws_text, bases_text = format_ours(draws, comparison), format_ours(bases, comparison)
    return f"{text} ({draws_text} draws, {bases_text} bases)"


def _tooltip(cell: ComparisonCell, comparison: Comparison | None = None) -> str:
    parts = [f"{cell.verdict}: {cell.reason}" if cell.reason else cell.verdict]
    if comparison is not None and cell.interval is not None:
        low, high = (format_ours(v, comparison) for v in (cell.interval.low, cell.interval.high))
        parts.append(f"95 % interval {low} to {high}")
    if comparison is not None and cell.values and cell.results:
        parts.append(f"{cell.n} of {max(cell.n, comparison.request.draws)} draws")
        parts.append(f"{cell.bases} bases" if cell.bases > 1 else "one base")
    parts += [f"† {slip.note}" for slip in cell.slips]
    return "; ".join(parts)


def _best(rows: Sequence[ComparisonRow], column: str) -> float | None:
    """The best mean of at least two measured methods."""
    means = [m for row in rows if (m := row.cells[column].mean) is not None]
    return max(means) if len(means) > 1 else None
