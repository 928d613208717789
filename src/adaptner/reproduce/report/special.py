"""Cells that are not the mean of a score: crossings of the In-Domain bound, and hardness.

A crossing is the share of the target's train split at which a method passes the In-Domain model
that had all of it (MetaNER, Figures 4 to 7); between two shares the curve is taken to be straight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adaptner.metrics.significance import mean_sd
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.cells import ComparisonCell
from adaptner.reproduce.report.levels import WHOLE
from adaptner.reproduce.report.matching import Index
from adaptner.reproduce.tables.published import PublishedRow

IN_DOMAIN = "in-domain"
BEFORE, NEVER = "before", "never"
_TABLE_ITERATION = 450  # HGDA's Table 1 names none; MetaBioNER has the same tasks at this one
_AROUND = 0.1  # of the iteration, on either side: one iteration has m tasks, too few for a mean


def in_domain_bound(index: Index, corpus: str) -> float | None:
    """The mean F1 of the In-Domain model with all of the target's data."""
    draws = index.get((IN_DOMAIN, "", WHOLE, corpus), {})
    return mean_sd([r.f1 for r in draws.values()])[0] if draws else None


def share_curve(
    index: Index, method: str, variant: str, corpus: str
) -> dict[float, list[StoredResult]]:
    """Share in percent -> draws, going up."""
    found = {
        level.share: [draws[seed] for seed in sorted(draws)]
        for (m, v, level, c), draws in index.items()
        if (m, v, c) == (method, variant, corpus) and level.share is not None and draws
    }
    return {share: found[share] for share in sorted(found)}


def crossing(curve: Iterable[tuple[float, float]], bound: float) -> float | str:
    """Where a curve of (share, F1) first reaches ``bound``; BEFORE its first point, or NEVER."""
    before: tuple[float, float] | None = None
    for share, f1 in curve:
        if f1 >= bound:
            if before is None:
                return BEFORE
            low, below = before
            return low + (share - low) * (bound - below) / (f1 - below)
        before = share, f1
    return NEVER


def crossing_draws(
    index: Index, method: str, variant: str, corpus: str, column: str
) -> ComparisonCell:
    """The crossing of every draw, as a fraction of the train split."""
    bound = in_domain_bound(index, corpus)
    if bound is None:
        return ComparisonCell(column, absence="no In-Domain result with all of the target's data")
    curves: dict[int, list[tuple[float, float]]] = {}
    used: list[StoredResult] = []
    for share, results in share_curve(index, method, variant, corpus).items():
        used += results
        for result in results:
            curves.setdefault(result.seed, []).append((share, result.f1))
    if not any(len(curve) > 1 for curve in curves.values()):
        return ComparisonCell(column, absence="no results at several shares of the target's data")
    found = {seed: crossing(curve, bound) for seed, curve in curves.items()}
    values = {seed: at / 100 for seed, at in found.items() if isinstance(at, float)}
    early = sum(at == BEFORE for at in found.values())
    late = sum(at == NEVER for at in found.values())
    said = [f"{early} of {len(found)} draws pass the bound before the first share"] if early else []
    said += [f"{late} of {len(found)} draws never pass it"] if late else []
    missing = "" if values else "; ".join(said)
    return ComparisonCell(
        column, values, objection="; ".join(said), absence=missing, results=tuple(used)
    )


def gamma_of(record: Mapping[str, Any]) -> float:
    """The weight of a task for the encoder (HGDA, equation 2)."""
    gamma = record["gamma"]
    return float(gamma["encoder"] if isinstance(gamma, Mapping) else gamma)


def fitting_runs(
    records: Sequence[Mapping[str, Any]], rows: Iterable[PublishedRow]
) -> list[Mapping[str, Any]]:
    """The records of runs with just the domains that the table has, where there are such runs: what
    a task's weight is shared with depends on the other domains."""
    wanted = {row.corpus for row in rows if not (row.corpus or "").startswith("task ")}
    domains: dict[Any, set[str]] = {}
    for record in records:
        domains.setdefault(record.get("run"), set()).add(record["domain"])
    fitting = {run for run, found in domains.items() if found == wanted}
    return [r for r in records if r.get("run") in fitting] if fitting else list(records)


def hardness_cell(
    records: Sequence[Mapping[str, Any]], row: PublishedRow, column: str
) -> ComparisonCell:
    """The hardness of a domain's tasks around the iteration that the paper shows one batch of."""
    named = re.search(r"\d+", row.setting or "")
    centre = int(named.group()) if named else _TABLE_ITERATION
    near = [
        gamma_of(r)
        for r in records
        if r["domain"] == row.corpus and abs(r["iteration"] - centre) <= _AROUND * centre
    ]
    if not near:
        return ComparisonCell(
            column, absence=f"no task of this domain recorded near iteration {centre}"
        )
    objection = (
        f"the paper shows one hand-picked batch; ours is the mean over {len(near)} tasks of this "
        f"domain near iteration {centre}"
    )
    return ComparisonCell(column, dict(enumerate(near)), objection=objection)
