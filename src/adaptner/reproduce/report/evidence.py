"""What the table rests on: tests between methods, plots, crossings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from adaptner.metrics.significance import mean_sd
from adaptner.reproduce.report.compare import Comparison
from adaptner.reproduce.report.document import (
    Block,
    Figure,
    Figures,
    Paragraph,
    ReportRow,
    ReportTable,
    TableCell,
)
from adaptner.reproduce.report.pairs import ALPHA, MethodPair, compare_pairs
from adaptner.reproduce.report.plots import (
    bound_plot,
    hardness_plot,
    published_crossing,
    share_plot,
    size_plot,
    styles,
)
from adaptner.reproduce.report.special import (
    BEFORE,
    IN_DOMAIN,
    crossing,
    in_domain_bound,
    share_curve,
)

_STARS = (
    "Each cell: the mean of the first method less that of the second over the draws that both have, "
    "in points of a hundred; under it the p-values of a paired t-test and of Wilcoxon's signed-rank "
    "test over draws, both two-sided and Holm-corrected over all pairs of that size and column. Stars "
    "go by the t-test: * p < 0.05, ** p < 0.01, *** p < 0.001. (With five draws Wilcoxon's p cannot "
    "fall below 0.0625, even before the correction.)"
)


def significance_blocks(comparison: Comparison) -> list[Block]:
    pairs = compare_pairs(comparison)
    if not pairs:
        return [Paragraph("No two methods have two draws in common yet.")]
    table: dict[tuple[Any, str, str], dict[str, MethodPair]] = {}
    for pair in pairs:
        table.setdefault((pair.level, pair.first, pair.second), {})[pair.column] = pair
    names = [n for n in (*comparison.names, *comparison.own_names) if comparison.filled([n])]
    rows: list[ReportRow] = []
    for level in dict.fromkeys(level for level, *_ in table):
        rows.append(ReportRow([level.label], "group"))
        for (where, first, second), found in table.items():
            if where == level:
                cells = [_pair_entry(found.get(name)) for name in names]
                rows.append(ReportRow([f"{first} − {second}", *cells]))
    grid = ReportTable(["pair", *names], rows, wide=True)
    return [_tally(pairs, comparison), Paragraph(_STARS, quiet=True), grid]


def size_blocks(comparison: Comparison) -> list[Block]:
    prefix = _slug(comparison.request.table)
    figures = []
    columns = (*comparison.columns, *comparison.own)
    for number, name in enumerate((*comparison.totals, *(c.name for c in columns))):
        svg = size_plot(comparison, name)
        if svg is not None:
            caption = f"{name}: score against the number of labelled target sentences"
            figures.append(Figure(svg, f"{prefix}-size-{number}-{_slug(name)}.svg", caption))
    if not figures:
        return []
    said = "Lines: our means. Bands: ± one standard deviation over draws. Hollow marks: the paper."
    return [Paragraph(said, quiet=True), Figures(figures)]


def share_blocks(comparison: Comparison) -> list[Block]:
    prefix = _slug(comparison.request.table)
    figures = []
    overview = bound_plot(comparison)
    if overview is not None:
        caption = "MetaNER less the In-Domain bound, one line per target"
        figures.append(Figure(overview, f"{prefix}-share-all.svg", caption))
    for number, column in enumerate((*comparison.columns, *comparison.own)):
        svg = share_plot(comparison, column.name)
        if svg is not None:
            caption = f"{column.name}: F1 against the share of the target's training data"
            name = f"{prefix}-share-{number}-{_slug(column.name)}.svg"
            figures.append(Figure(svg, name, caption))
    if not figures:
        return []
    said = (
        "The dashed line is the In-Domain model with all of the target's data. A filled triangle "
        "on the axis is where our MetaNER passes it, a hollow one where the paper says it does."
    )
    return [Paragraph(said, quiet=True), Figures(figures), *_crossing_grid(comparison)]


def hardness_blocks(request_records: Sequence[Mapping[str, Any]], table: str) -> list[Block]:
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for record in request_records:
        runs.setdefault(str(record.get("run", "")), []).append(record)
    figures = []
    for number, (run, records) in enumerate(runs.items()):
        title = ", ".join(sorted({str(record["domain"]) for record in records}))
        svg = hardness_plot(records, f"Sources {title}")
        if svg is not None:
            name = f"{_slug(table)}-hardness-{number}.svg"
            figures.append(Figure(svg, name, f"Hardness of tasks from {title} (base {run})"))
    if not figures:
        return []
    said = (
        "The weight γ of a task in the encoder's update (HGDA, equation 2), averaged over the tasks "
        "of a domain in 25 stretches of the run. Tasks of equal weight lie on the dashed line."
    )
    return [Paragraph(said, quiet=True), Figures(figures)]


def _pair_entry(pair: MethodPair | None) -> TableCell:
    if pair is None:
        return TableCell("–", tip="fewer than two common draws")
    tone = "" if pair.t >= ALPHA else "above" if pair.difference > 0 else "below"
    tip = f"t: p = {_p(pair.t)}; Wilcoxon: p = {_p(pair.wilcoxon)}; {pair.n} draws, both corrected"
    points = round(100 * pair.difference, 1) + 0.0  # no "-0.0"
    shown = f"{points:+.1f}".replace("-", "−") + pair.stars
    return TableCell(shown, under=f"{_p(pair.t)} / {_p(pair.wilcoxon)}", tone=tone, tip=tip)


def _tally(pairs: Sequence[MethodPair], comparison: Comparison) -> Block:
    """Per pair: in how many cells of the printed columns one is significantly better."""
    printed = {column.name for column in (*comparison.columns, *comparison.own)}
    ahead: dict[tuple[str, str], Counter[str]] = {}
    for pair in pairs:
        if pair.column in printed:
            count = ahead.setdefault((pair.first, pair.second), Counter())
            count["cells"] += 1
            if pair.t < ALPHA:
                count["first" if pair.difference > 0 else "second"] += 1
    rows = [
        ReportRow([a, b, str(n["first"]), str(n["second"]), str(n["cells"])])
        for (a, b), n in ahead.items()
    ]
    header: list[TableCell | str] = ["first", "second"]
    header += [TableCell(f"{which} better", under="p < 0.05") for which in ("first", "second")]
    return ReportTable([*header, TableCell("compared", under="cells")], rows, names=2)


def _crossing_grid(comparison: Comparison) -> list[Block]:
    """The share at which each method passes the In-Domain bound."""
    columns = [c for c in (*comparison.columns, *comparison.own) if comparison.filled([c.name])]
    rows = []
    for method, variant in styles(comparison):
        if method == IN_DOMAIN:
            continue
        cells: list[TableCell | str] = []
        for column in columns:
            bound = in_domain_bound(comparison.index, column.corpus or "")
            curve = share_curve(comparison.index, method, variant, column.corpus or "")
            if bound is None or len(curve) < 2:
                cells.append("–")
                continue
            at = crossing([(s, mean_sd([r.f1 for r in d])[0]) for s, d in curve.items()], bound)
            first = min(curve)
            shown = (
                f"{at:.0f} %"
                if isinstance(at, float)
                else f"< {first:g} %"
                if at == BEFORE
                else "never"
            )
            published = published_crossing(comparison, column.name) if method == "metaner" else None
            cells.append(
                TableCell(shown, under="" if published is None else f"paper {published:g} %")
            )
        label = next(
            n.label for n in comparison.lines if (n.method, n.variant) == (method, variant)
        )
        if any(cell != "–" for cell in cells):
            rows.append(ReportRow([label, *cells]))
    if not rows:
        return []
    title = Paragraph("Share of the target's data at which a method passes the In-Domain bound:")
    return [title, ReportTable(["method", *(c.name for c in columns)], rows)]


def _p(value: float) -> str:
    if value < 0.001:
        return "<.001"
    return "1" if value >= 0.9995 else f"{value:.3f}".removeprefix("0")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "x"
