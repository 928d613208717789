"""The plots of a report, the crossings of the In-Domain bound, and tests between methods."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from adaptner.reproduce.report.compare import Comparison
from adaptner.reproduce.report.crossings import (
    BEFORE,
    IN_DOMAIN,
    crossing,
    in_domain_bound,
    mean_curve,
)
from adaptner.reproduce.report.matching import Column
from adaptner.reproduce.report.page import (
    Block,
    Figure,
    Figures,
    Paragraph,
    ReportRow,
    ReportTable,
    TableCell,
)
from adaptner.reproduce.report.pairs import MethodPair, compare_pairs
from adaptner.reproduce.report.plots import (
    METANER,
    bound_plot,
    hardness_plot,
    method_styles,
    published_crossing,
    share_plot,
    size_plot,
)

_SIGNIFICANCE_LEGEND = (
    "Below a difference are the p-values of a paired t-test and of Wilcoxon's signed-rank test, both "
    "two-sided and Holm-corrected over all pairs of that size and column. Methods are paired on the "
    "seeds of draw and base. Where all bases are adapted to all draws, the t-test adds the variances "
    "over draws and over bases, and Wilcoxon's test is over draws. Stars follow the t-test: "
    "* p < 0.05, ** p < 0.01, *** p < 0.001. With five draws, Wilcoxon's p cannot fall below "
    "0.0625, even without the correction."
)
_DIFFERENCE_LEGEND = (
    "Each cell shows the mean of the first method minus that of the second over their common draws "
    "and bases, in percentage points."
)
_ONE_BASE_LEGEND = "Methods with one base have no p-values: a test over draws alone says nothing about other bases."


def significance_blocks(comparison: Comparison) -> list[Block]:
    pairs = compare_pairs(comparison)
    if not pairs:
        return [Paragraph("No two methods have two runs in common yet.")]
    by_column: dict[tuple[Any, str, str], dict[str, MethodPair]] = {}
    for pair in pairs:
        by_column.setdefault((pair.level, pair.first, pair.second), {})[pair.column] = pair
    names = comparison.measured_names
    rows: list[ReportRow] = []
    for level in dict.fromkeys(level for level, *_ in by_column):
        rows.append(ReportRow([level.label], "group"))
        for (pair_level, first, second), found in by_column.items():
            if pair_level == level:
                cells = [_pair_cell(found.get(name)) for name in names]
                rows.append(ReportRow([f"{first} − {second}", *cells]))
    table = ReportTable(["pair", *names], rows, full_width=True)
    tested = [pair for pair in pairs if pair.t_test_p is not None]
    legend = [_DIFFERENCE_LEGEND]
    legend += [_SIGNIFICANCE_LEGEND] if tested else []
    legend += [_ONE_BASE_LEGEND] if len(tested) < len(pairs) else []
    counts = [_significance_counts(tested, comparison)] if tested else []
    return [*counts, Paragraph(" ".join(legend), muted=True), table]


def size_blocks(comparison: Comparison) -> list[Block]:
    prefix = _slug(comparison.request.table)
    figures = []
    names = (*comparison.totals, *(column.name for column in comparison.all_columns))
    for number, name in enumerate(names):
        svg = size_plot(comparison, name)
        if svg is not None:
            caption = f"{name}: score against the number of labelled target sentences"
            figures.append(Figure(svg, f"{prefix}-size-{number}-{_slug(name)}.svg", caption))
    return _with_legend(
        "Filled markers and lines: our means. Bars: their 95 % intervals, which may reach beyond the "
        "plot with few draws. Hollow markers: published figures.",
        figures,
    )


def share_blocks(comparison: Comparison) -> list[Block]:
    prefix = _slug(comparison.request.table)
    figures = []
    overview = bound_plot(comparison)
    if overview is not None:
        caption = "F1 of MetaNER minus the In-Domain bound, one line per target"
        figures.append(Figure(overview, f"{prefix}-share-all.svg", caption))
    for number, column in enumerate(comparison.all_columns):
        svg = share_plot(comparison, column.name)
        if svg is not None:
            caption = f"{column.name}: F1 against the share of the target's training data"
            name = f"{prefix}-share-{number}-{_slug(column.name)}.svg"
            figures.append(Figure(svg, name, caption))
    blocks = _with_legend(
        "Bands: ± one standard deviation over draws and bases. The dashed line is the In-Domain model with "
        "all of the target's data. The filled triangle on the axis marks where our MetaNER passes "
        "it, the hollow one where the paper's does.",
        figures,
    )
    return [*blocks, *_crossing_table(comparison)] if blocks else []


def hardness_blocks(records: Sequence[Mapping[str, Any]], table: str) -> list[Block]:
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        runs.setdefault(str(record.get("run", "")), []).append(record)
    figures = []
    for number, (run, found) in enumerate(runs.items()):
        domains = ", ".join(sorted({str(record["domain"]) for record in found}))
        svg = hardness_plot(found, f"Sources {domains}")
        if svg is not None:
            name = f"{_slug(table)}-hardness-{number}.svg"
            figures.append(Figure(svg, name, f"Hardness of tasks from {domains} (base {run})"))
    return _with_legend(
        "The weight γ of a task in the encoder's update (HGDA, equation 2), averaged over the tasks "
        "of a domain in 25 sections of the run. The dashed line marks equal weights.",
        figures,
    )


def _with_legend(text: str, figures: Sequence[Figure]) -> list[Block]:
    return [Paragraph(text, muted=True), Figures(figures)] if figures else []


def _pair_cell(pair: MethodPair | None) -> TableCell:
    if pair is None:
        return TableCell("–", tooltip="fewer than two common runs")
    points = round(100 * pair.difference, 1) + 0.0  # no "-0.0"
    text = f"{points:+.1f}".replace("-", "−") + pair.stars
    runs = f"{pair.n} draws, {pair.bases} {'base' if pair.bases == 1 else 'bases'}"
    if pair.t_test_p is None or pair.wilcoxon_p is None:
        return TableCell(text, tooltip=runs)
    t_test, wilcoxon = _format_p(pair.t_test_p), _format_p(pair.wilcoxon_p)
    return TableCell(
        text,
        second_line=f"{t_test} / {wilcoxon}",
        tone="" if not pair.significant else "above" if pair.difference > 0 else "below",
        tooltip=f"t-test: p = {t_test}; Wilcoxon: p = {wilcoxon}; {runs}, both corrected",
    )


def _significance_counts(pairs: Sequence[MethodPair], comparison: Comparison) -> Block:
    """Per pair: the number of cells in which either method is significantly better."""
    columns = {column.name for column in comparison.all_columns}
    counts: dict[tuple[str, str], Counter[str]] = {}
    for pair in pairs:
        if pair.column in columns:
            count = counts.setdefault((pair.first, pair.second), Counter())
            count["cells"] += 1
            if pair.significant:
                count["first" if pair.difference > 0 else "second"] += 1
    rows = [
        ReportRow([first, second, str(n["first"]), str(n["second"]), str(n["cells"])])
        for (first, second), n in counts.items()
    ]
    header: list[TableCell | str] = ["first", "second"]
    header += [
        TableCell(f"{which} better", second_line="p < 0.05") for which in ("first", "second")
    ]
    header.append(TableCell("compared", second_line="cells"))
    return ReportTable(header, rows, text_columns=2)


def _crossing_table(comparison: Comparison) -> list[Block]:
    """The share at which each method passes the In-Domain bound."""
    columns = [c for c in comparison.all_columns if comparison.has_values([c.name])]
    rows = []
    for method, variant in method_styles(comparison):
        cells = [_crossing_text(comparison, method, variant, column) for column in columns]
        if method != IN_DOMAIN and any(cell.text != "–" for cell in cells):
            rows.append(ReportRow([comparison.label(method, variant), *cells]))
    if not rows:
        return []
    title = Paragraph("Share of the target's data at which a method passes the In-Domain bound:")
    return [title, ReportTable(["method", *(c.name for c in columns)], rows)]


def _crossing_text(comparison: Comparison, method: str, variant: str, column: Column) -> TableCell:
    bound = in_domain_bound(comparison.index, column.corpus or "")
    curve = mean_curve(comparison.index, method, variant, column.corpus or "")
    if bound is None or len(curve) < 2:
        return TableCell("–")
    share = crossing(curve, bound)
    if isinstance(share, float):
        text = f"{share:.0f} %"
    else:
        text = f"< {curve[0][0]:g} %" if share == BEFORE else "never"
    published = published_crossing(comparison, column.name) if method == METANER else None
    return TableCell(text, second_line="" if published is None else f"paper {published:g} %")


def _format_p(value: float) -> str:
    if value < 0.001:
        return "<.001"
    return "1" if value >= 0.9995 else f"{value:.3f}".removeprefix("0")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "x"
