"""Shares of the target's data at which a method passes the In-Domain bound (MetaNER, Figures 4-7).

The bound is the F1 of the In-Domain model that had all of the target's train split. Between two
shares, the curve of a method is taken to be straight.
"""

from __future__ import annotations

from collections.abc import Iterable

from adaptner.metrics.crossed import Run, Spread, spread
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.cells import ComparisonCell
from adaptner.reproduce.report.levels import WHOLE_SPLIT
from adaptner.reproduce.report.matching import Index, run_of

IN_DOMAIN = "in-domain"
BEFORE, NEVER = "before", "never"


def in_domain_bound(index: Index, corpus: str) -> float | None:
    """Returns the mean F1 of the In-Domain model with all of the target's data."""
    runs = index.get((IN_DOMAIN, "", WHOLE_SPLIT, corpus), {})
    return f1_spread(runs.values()).mean if runs else None


def share_curve(
    index: Index, method: str, variant: str, corpus: str
) -> dict[float, list[StoredResult]]:
    """Returns the results for each share in percent, by increasing share."""
    curve = {
        level.share: [runs[run] for run in sorted(runs)]
        for (m, v, level, c), runs in index.items()
        if (m, v, c) == (method, variant, corpus) and level.share is not None and runs
    }
    return {share: curve[share] for share in sorted(curve)}


def mean_curve(index: Index, method: str, variant: str, corpus: str) -> list[tuple[float, float]]:
    """Returns the mean F1 for each share in percent, by increasing share."""
    curve = share_curve(index, method, variant, corpus)
    return [(share, f1_spread(results).mean) for share, results in curve.items()]


def f1_spread(results: Iterable[StoredResult]) -> Spread:
    return spread({run_of(r): r.f1 for r in results})


def crossing(curve: Iterable[tuple[float, float]], bound: float) -> float | str:
    """Returns the share at which a curve of (share, F1) first reaches ``bound``; ``BEFORE`` if its
    first point does, ``NEVER`` if none does."""
    previous: tuple[float, float] | None = None
    for share, f1 in curve:
        if f1 >= bound:
            if previous is None:
                return BEFORE
            low, f1_low = previous
            return low + (share - low) * (bound - f1_low) / (f1 - f1_low)
        previous = share, f1
    return NEVER


def crossing_cell(
    index: Index, method: str, variant: str, corpus: str, column: str
) -> ComparisonCell:
    """Returns the cell with the crossing of each run as a fraction of the train split."""
    bound = in_domain_bound(index, corpus)
    if bound is None:
        return ComparisonCell(column, absence="no In-Domain result with all of the target's data")
    curves: dict[Run, list[tuple[float, float]]] = {}
    results: list[StoredResult] = []
    for share, draws in share_curve(index, method, variant, corpus).items():
        results += draws
        for result in draws:
            curves.setdefault(run_of(result), []).append((share, result.f1))
    if not any(len(curve) > 1 for curve in curves.values()):
        return ComparisonCell(column, absence="no results at several shares of the target's data")
    crossings = {run: crossing(curve, bound) for run, curve in curves.items()}
    values = {run: at / 100 for run, at in crossings.items() if isinstance(at, float)}
    early = sum(at == BEFORE for at in crossings.values())
    late = sum(at == NEVER for at in crossings.values())
    n = len(crossings)
    remarks = [f"{early} of {n} draws pass the bound before the first share"] if early else []
    remarks += [f"{late} of {n} draws never pass it"] if late else []
    reason = "; ".join(remarks)
    return ComparisonCell(
        column, values, objection=reason, absence="" if values else reason, results=tuple(results)
    )
