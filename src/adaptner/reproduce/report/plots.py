"""The three kinds of plot: score against size, share of the data, hardness over iterations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adaptner.metrics.significance import mean_sd
from adaptner.reproduce.report.chart import Axis, Chart, Series
from adaptner.reproduce.report.compare import COMPARABLE, Comparison, ComparisonRow
from adaptner.reproduce.report.special import crossing, gamma_of, in_domain_bound, share_curve
from adaptner.reproduce.report.svg import Style, style

_BINS = 25  # of a run's iterations: a domain's tasks come at random, single ones are noise
METANER = "metaner"


def styles(comparison: Comparison) -> dict[tuple[str, str], Style]:
    """A look for every method that was measured, the same in all plots of a report."""
    seen = dict.fromkeys(
        (line.method, line.variant) for line in comparison.lines if line.method and line.measured
    )
    return {(m, v): style(i) for i, (m, v) in enumerate(seen) if m is not None}


def size_plot(comparison: Comparison, column: str) -> str | None:
    """A measure against the number of target sentences; hollow marks are the paper's figures."""
    looks, scale = styles(comparison), comparison.scale
    groups: dict[tuple[str, str], list[ComparisonRow]] = {}
    for line in comparison.lines:
        where = (line.method or "", line.variant)
        if where in looks and line.level.size and line.cells[column].values:
            groups.setdefault(where, []).append(line)
    series = []
    for where, lines in groups.items():
        points = [(float(n.level.size or 0), *_shown(n, column, scale)) for n in lines]
        published = [
            (float(n.level.size or 0), figure * scale)
            for n in lines
            if (figure := n.cells[column].published) is not None
        ]
        series.append(Series(lines[0].label, looks[where], points, published))
    if not series:
        return None
    sizes = sorted({x for s in series for x, *_ in s.points})
    far = sizes[-1] > 4 * sizes[0]
    low, high = (sizes[0], sizes[-1]) if len(sizes) > 1 else (sizes[0] / 2, sizes[0] * 2)
    x = Axis("labelled target sentences", low, high, sizes, logarithmic=far)
    top = _top(series, scale)
    y = Axis(_measure(comparison, column), 0, top)
    chart = Chart(_title(comparison, column), x, y, beside=3.0)
    return chart.draw(series)


def share_plot(comparison: Comparison, column: str) -> str | None:
    """F1 against the share of the target's train split, with the In-Domain bound (MetaNER's Figures
    5 and 7). Filled triangles are where MetaNER passes the bound, hollow ones where the paper says."""
    corpus = _corpus(comparison, column)
    if corpus is None:
        return None
    looks, scale = styles(comparison), comparison.scale
    series = []
    for (method, variant), look in looks.items():
        curve = share_curve(comparison.index, method, variant, corpus)
        points = [
            (share, *_mean_sd([r.f1 for r in found], scale)) for share, found in curve.items()
        ]
        if points:
            series.append(Series(_label(comparison, method, variant), look, points))
    if len({x for s in series for x, *_ in s.points}) < 2:
        return None
    axis = Axis("share of the target's training data (%)", 0, 100, (0, 20, 40, 60, 80, 100))
    bound = in_domain_bound(comparison.index, corpus)
    lowest = min(y for s in series for _, y, _ in s.points) / scale
    low = scale * max(0.0, math.floor(10 * lowest - 0.5) / 10)
    y = Axis(_unit("F1", scale), low, _top(series, scale, bound or 0.0))
    chart = Chart(f"{_title(comparison, column)}: share of the data", axis, y)
    if bound is not None:
        chart.bound(bound * scale, "In-Domain bound")
        curve = share_curve(comparison.index, METANER, "", corpus)
        means = [(share, mean_sd([r.f1 for r in found])[0]) for share, found in curve.items()]
        at = crossing(means, bound)
        if isinstance(at, float) and (METANER, "") in looks:
            chart.drop(at, bound * scale, looks[METANER, ""], hollow=False)
        published = published_crossing(comparison, column)
        if published is not None and (METANER, "") in looks:
            chart.drop(published, bound * scale, looks[METANER, ""], hollow=True)
    return chart.draw(series)


def bound_plot(comparison: Comparison) -> str | None:
    """MetaNER less the In-Domain bound, one line per target (Figures 4 and 6 in one)."""
    series = []
    for number, column in enumerate((*comparison.columns, *comparison.own)):
        bound = in_domain_bound(comparison.index, column.corpus or "")
        curve = share_curve(comparison.index, METANER, "", column.corpus or "")
        if bound is not None and len(curve) > 1:
            points = [
                (share, 100 * (mean_sd([r.f1 for r in found])[0] - bound), None)
                for share, found in curve.items()
            ]
            series.append(Series(column.name, style(number), points))
    if not series:
        return None
    heights = [y for s in series for _, y, _ in s.points]
    y = Axis("F1 less the bound (points)", min(0.0, *heights) - 1, max(0.0, *heights) + 1)
    x = Axis("share of the target's training data (%)", 0, 100, (0, 20, 40, 60, 80, 100))
    chart = Chart("MetaNER against the In-Domain bound", x, y)
    chart.bound(0.0, "In-Domain bound")
    return chart.draw(series)


def published_crossing(comparison: Comparison, column: str) -> float | None:
    """The share in percent at which the paper lets MetaNER pass the bound on a target."""
    for table in comparison.paper.tables:
        if table.id.startswith("crossing") and column in table.columns:
            rows = table.select(method_id=METANER)
            return table.value(rows[0], column) if rows else None
    return None


def hardness_plot(records: Sequence[Mapping[str, Any]], title: str) -> str | None:
    """The mean hardness of each domain's tasks over a run; the dashed line is equal weight."""
    if not records:
        return None
    last = max(r["iteration"] for r in records)
    first = min(r["iteration"] for r in records)
    width = max(1.0, (last - first + 1) / _BINS)
    bins: dict[str, dict[int, list[float]]] = {}
    for record in records:
        at = int((record["iteration"] - first) / width)
        bins.setdefault(str(record["domain"]), {}).setdefault(at, []).append(gamma_of(record))
    series = []
    for number, domain in enumerate(sorted(bins)):
        points = [
            (min(last, first + (at + 0.5) * width), mean_sd(bins[domain][at])[0], None)
            for at in sorted(bins[domain])
        ]
        series.append(Series(domain, style(number), points))
    per_iteration = len(records) / len({r["iteration"] for r in records})
    y = Axis("hardness γ of the encoder", 0, min(1.0, _top(series, 1.0)))
    chart = Chart(title, Axis("iteration", min(0, first), max(last, first + 1)), y, marked=False)
    chart.bound(1 / per_iteration, f"equal, 1/{per_iteration:.0f}")
    return chart.draw(series)


def _corpus(comparison: Comparison, column: str) -> str | None:
    every = (*comparison.columns, *comparison.own)
    return next((c.corpus for c in every if c.name == column), None)


def _label(comparison: Comparison, method: str, variant: str) -> str:
    for line in comparison.lines:
        if (line.method, line.variant) == (method, variant):
            return line.label
    return method


def _shown(line: ComparisonRow, column: str, scale: float) -> tuple[float, float | None]:
    return _mean_sd(list(line.cells[column].values.values()), scale)


def _mean_sd(values: Sequence[float], scale: float) -> tuple[float, float | None]:
    mean, sd = mean_sd(values)
    return mean * scale, sd * scale if len(values) > 1 else None


def _top(series: Sequence[Series], scale: float, bound: float = 0.0) -> float:
    """A little above the highest thing drawn, and never above what a score can be."""
    reached = [mean + (sd or 0) for s in series for _, mean, sd in s.points]
    reached += [value for s in series for _, value in s.reference]
    highest = max(bound, max(reached, default=0.0) / scale)
    return scale * min(1.0, max(0.1, (int(highest * 20) + 1) / 20))


def _measure(comparison: Comparison, column: str) -> str:
    every = (*comparison.columns, *comparison.own)
    found = next((c.metric for c in every if c.name == column), None)
    metric = found or comparison.table.metric or "f1"
    return _unit("F1" if metric == "f1" else metric, comparison.scale)


def _unit(name: str, scale: float) -> str:
    return f"{name} (%)" if scale == 100 else f"{name} (0 to 1)"


def _title(comparison: Comparison, column: str) -> str:
    if column == COMPARABLE:
        return f"Overall, {sum(not c.objection for c in comparison.columns)} comparable corpora"
    corpus = _corpus(comparison, column)
    return f"{column} ({corpus})" if corpus and corpus.lower() != column.lower() else column
