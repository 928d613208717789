"""The plots of a report: score against size, against share of the data, and task hardness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adaptner.metrics.crossed import Spread
from adaptner.metrics.significance import mean_sd
from adaptner.reproduce.report.chart import (
    Axis,
    Chart,
    Crossing,
    Point,
    Series,
    Style,
    series_style,
)
from adaptner.reproduce.report.compare import COMPARABLE, Comparison, ComparisonRow
from adaptner.reproduce.report.crossings import (
    crossing,
    f1_spread,
    in_domain_bound,
    mean_curve,
    share_curve,
)
from adaptner.reproduce.report.hardness import gamma_of

METANER = "metaner"
_HARDNESS_BINS = 25  # single tasks vary too much to be plotted
_SHARE_AXIS = Axis("share of the target's training data (%)", 0, 100, (0, 20, 40, 60, 80, 100))


def method_styles(comparison: Comparison) -> dict[tuple[str, str], Style]:
    """Returns a style for each measured method and variant, the same in all plots of a report."""
    measured = dict.fromkeys(
        (row.method, row.variant) for row in comparison.rows if row.method and row.measured
    )
    return {(m, v): series_style(i) for i, (m, v) in enumerate(measured) if m is not None}


def size_plot(comparison: Comparison, column: str) -> str | None:
    """Returns the plot of a score against the number of labelled target sentences.

    Bars are the 95 % intervals on which the verdicts rest. Returns None without results.
    """
    styles, scale = method_styles(comparison), comparison.scale
    groups: dict[tuple[str, str], list[ComparisonRow]] = {}
    for row in comparison.rows:
        key = (row.method or "", row.variant)
        same_kind = row.level.draws_from == comparison.request.draws_from
        if key in styles and row.level.size and same_kind and row.cells[column].values:
            groups.setdefault(key, []).append(row)
    series = []
    for key, rows in groups.items():
        points, published = [], []
        for row in rows:
            size, cell = float(row.level.size or 0), row.cells[column]
            interval = cell.interval
            ends = (interval.low * scale, interval.high * scale) if interval else ()
            points.append(Point(size, (cell.mean or 0) * scale, *ends))
            if cell.published is not None:
                published.append((size, cell.published * scale))
        series.append(Series(rows[0].label, styles[key], points, published))
    if not series:
        return None
    sizes = sorted({point.x for s in series for point in s.points})
    low, high = (sizes[0], sizes[-1]) if len(sizes) > 1 else (sizes[0] * 0.5, sizes[0] * 1.5)
    x = Axis("labelled target sentences", low, high, sizes, logarithmic=high > 4 * low)
    y = Axis(_measure_label(comparison, column), *_score_range(series, scale))
    return Chart(_title(comparison, column), x, y, series).svg()


def share_plot(comparison: Comparison, column: str) -> str | None:
    """Returns the plot of F1 against the share of the target's data (MetaNER's Figures 5 and 7).

    Returns None with fewer than two shares.
    """
    found = comparison.column(column)
    if found is None or found.corpus is None:
        return None
    corpus = found.corpus
    styles, scale = method_styles(comparison), comparison.scale
    series = []
    for (method, variant), style in styles.items():
        curve = share_curve(comparison.index, method, variant, corpus)
        points = [_mean_and_sd(share, f1_spread(r), scale) for share, r in curve.items()]
        if points:
            series.append(Series(comparison.label(method, variant), style, points))
    if len({point.x for s in series for point in s.points}) < 2:
        return None
    bound = in_domain_bound(comparison.index, corpus)
    return Chart(
        title=f"{_title(comparison, column)}: share of the data",
        x=_SHARE_AXIS,
        y=Axis(_with_unit("F1", scale), *_score_range(series, scale, bound or 0.0)),
        series=series,
        level=None if bound is None else (bound * scale, "In-Domain bound"),
        crossings=_crossings(comparison, column, corpus, bound),
        bands=True,
    ).svg()


def _crossings(
    comparison: Comparison, column: str, corpus: str, bound: float | None
) -> list[Crossing]:
    """Where MetaNER passes the bound in our results and in the paper."""
    style = method_styles(comparison).get((METANER, ""))
    if bound is None or style is None:
        return []
    height, colour = bound * comparison.scale, style.colour
    ours = crossing(mean_curve(comparison.index, METANER, "", corpus), bound)
    found = [Crossing(ours, height, colour, "crossing, ours")] if isinstance(ours, float) else []
    published = published_crossing(comparison, column)
    if published is not None:
        found.append(Crossing(published, height, colour, "crossing, published", published=True))
    return found


def bound_plot(comparison: Comparison) -> str | None:
    """Returns the plot of MetaNER's F1 minus the In-Domain bound, with a line per target (MetaNER's
    Figures 4 and 6 in one), or None without results."""
    series = []
    for number, column in enumerate(comparison.all_columns):
        bound = in_domain_bound(comparison.index, column.corpus or "")
        curve = mean_curve(comparison.index, METANER, "", column.corpus or "")
        if bound is not None and len(curve) > 1:
            points = [Point(share, 100 * (f1 - bound)) for share, f1 in curve]
            series.append(Series(column.name, series_style(number), points))
    if not series:
        return None
    heights = [point.y for s in series for point in s.points]
    y = Axis("F1 minus the bound (points)", min(0.0, *heights) - 1, max(0.0, *heights) + 1)
    title = "MetaNER against the In-Domain bound"
    return Chart(title, _SHARE_AXIS, y, series, level=(0.0, "In-Domain bound"), bands=True).svg()


def published_crossing(comparison: Comparison, column: str) -> float | None:
    """Returns the share in percent at which MetaNER passes the bound according to the paper."""
    for table in comparison.paper.tables:
        if table.id.startswith("crossing") and column in table.columns:
            rows = table.select(method_id=METANER)
            return table.value(rows[0], column) if rows else None
    return None


def hardness_plot(records: Sequence[Mapping[str, Any]], title: str) -> str | None:
    """Returns the plot of the mean hardness of each domain's tasks over a run."""
    if not records:
        return None
    last = max(r["iteration"] for r in records)
    first = min(r["iteration"] for r in records)
    width = max(1.0, (last - first + 1) / _HARDNESS_BINS)
    bins: dict[str, dict[int, list[float]]] = {}
    for record in records:
        number = int((record["iteration"] - first) / width)
        bins.setdefault(str(record["domain"]), {}).setdefault(number, []).append(gamma_of(record))
    series = []
    for number, domain in enumerate(sorted(bins)):
        points = [
            Point(min(last, first + (at + 0.5) * width), mean_sd(bins[domain][at])[0])
            for at in sorted(bins[domain])
        ]
        series.append(Series(domain, series_style(number), points))
    tasks = len(records) / len({r["iteration"] for r in records})
    return Chart(
        title=title,
        x=Axis("iteration", min(0, first), max(last, first + 1)),
        y=Axis("hardness γ of the encoder", 0, _score_range(series, 1.0)[1]),
        series=series,
        level=(1 / tasks, f"equal weight, 1/{tasks:.0f}"),
        markers=False,
        bands=True,
    ).svg()


def _mean_and_sd(x: float, found: Spread, scale: float) -> Point:
    """A point whose interval is one standard deviation on either side."""
    mean, sd = found.mean, found.sd
    ends = () if sd is None else ((mean - sd) * scale, (mean + sd) * scale)
    return Point(x, mean * scale, *ends)


def _score_range(series: Sequence[Series], scale: float, bound: float = 0.0) -> tuple[float, float]:
    """The ends of an axis that shows all means and published figures, within the range of a score.

    Intervals count up to a tenth of the scale: those of two draws are several times as long as
    everything else.
    """
    points = [point for s in series for point in s.points]
    published = [y / scale for s in series for _, y in s.published]
    lows = [max(p.y if p.low is None else p.low, p.y - 0.1 * scale) / scale for p in points]
    highs = [min(p.y if p.high is None else p.high, p.y + 0.1 * scale) / scale for p in points]
    margin = 0.015  # half a marker
    low = math.floor(10 * (min(*lows, *published, 1.0) - margin)) / 10
    high = math.ceil(20 * (max(*highs, *published, bound, 0.0) + margin)) / 20
    return scale * max(0.0, low), scale * min(1.0, max(0.1, high))


def _measure_label(comparison: Comparison, column: str) -> str:
    found = comparison.column(column)
    metric = (found and found.metric) or comparison.table.metric or "f1"
    return _with_unit("F1" if metric == "f1" else metric, comparison.scale)


def _with_unit(name: str, scale: float) -> str:
    return f"{name} (%)" if scale == 100 else f"{name} (0 to 1)"


def _title(comparison: Comparison, column: str) -> str:
    if column == COMPARABLE:
        return f"Overall, {sum(not c.objection for c in comparison.columns)} comparable corpora"
    found = comparison.column(column)
    corpus = found.corpus if found is not None else None
    return f"{column} ({corpus})" if corpus and corpus.lower() != column.lower() else column
