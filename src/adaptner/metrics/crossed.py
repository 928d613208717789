"""Means, deviations, intervals and paired tests of runs over draws and bases.

A run adapts one base to one draw. The two are *crossed* if every base adapts to every draw: both then
vary on their own, and neither deviation says anything about the other. If each draw has a base of its
own, or all have the same one, the runs differ in one thing only and are treated as plain repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from adaptner.metrics.significance import (
    Interval,
    PairedTest,
    mean_sd,
    paired_t_test,
    t_interval,
    t_p_value,
    wilcoxon_signed_rank,
)

Run = tuple[int, int]  # seed of the draw, seed of the base
RESAMPLES = 10_000


@dataclass(frozen=True)
class Spread:
    """``sd_draws`` is the deviation (n - 1) over draws of means over bases, ``sd_bases`` that over
    bases of means over draws. Either is None if there is only one, or if they do not vary apart."""

    mean: float
    draws: int
    bases: int
    sd_draws: float | None
    sd_bases: float | None

    @property
    def sd(self) -> float | None:
        """The root of the sum of both variances; None for a single run."""
        found = [sd for sd in (self.sd_draws, self.sd_bases) if sd is not None]
        return math.hypot(*found) if found else None


def complete_runs(values: Mapping[Run, float]) -> dict[Run, float]:
    """Returns the runs that can be compared: those of draws that every base has, or all of them if each
    draw has a base of its own. If no draw is complete, those of the base with the most draws."""
    draws, bases = _seeds(values)
    if _one_base_per_draw(values):
        return dict(values)
    complete = {d for d in draws if all((d, b) in values for b in bases)}
    if complete:
        return {run: value for run, value in values.items() if run[0] in complete}
    most = max(bases, key=lambda base: sum(b == base for _, b in values), default=None)
    return {run: value for run, value in values.items() if run[1] == most}


def spread(values: Mapping[Run, float]) -> Spread:
    """Returns mean and deviations of the complete runs, of which there must be one."""
    runs = complete_runs(values)
    draws, bases = _seeds(runs)
    mean = mean_sd(list(runs.values()))[0]
    if _one_base_per_draw(runs):
        return Spread(mean, len(draws), len(bases), _sd(runs.values()), None)
    over_draws, over_bases = _means(runs, 0), _means(runs, 1)
    return Spread(mean, len(draws), len(bases), _sd(over_draws), _sd(over_bases))


def interval(values: Mapping[Run, float], confidence: float = 0.95) -> Interval | None:
    """Returns the confidence interval of the mean; None for a single run.

    Crossed runs: the percentiles of means after drawing draws and bases anew, both with replacement
    (Owen 2007, the pigeonhole bootstrap), seeded. Otherwise Student's t over the runs."""
    runs = complete_runs(values)
    if not _crossed(runs):
        return t_interval(list(runs.values()), confidence) if len(runs) > 1 else None
    draws, bases = _seeds(runs)
    grid = np.array([[runs[draw, base] for base in bases] for draw in draws])
    rng = np.random.default_rng(0)
    of_draws, of_bases = (rng.multinomial(k, [1 / k] * k, RESAMPLES) / k for k in grid.shape)
    means = np.einsum("rd,db,rb->r", of_draws, grid, of_bases)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(grid.mean()), float(low), float(high))


def paired_t(first: Mapping[Run, float], second: Mapping[Run, float]) -> PairedTest:
    """Returns the t-test over the differences of runs with the same draw and base.

    Crossed runs: runs of the same base are not independent, and counting them as if they were makes
    p-values too small. The variance of the mean is therefore the sum of those over draws and over
    bases, with Welch's degrees of freedom (Clark 1973: min F')."""
    runs = _differences(first, second)
    if not _crossed(runs):
        return paired_t_test([first[r] for r in runs], [second[r] for r in runs])
    mean = mean_sd(list(runs.values()))[0]
    parts = [(mean_sd(m)[1] ** 2 / len(m), len(m) - 1) for m in (_means(runs, 0), _means(runs, 1))]
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return PairedTest(
            math.copysign(math.inf, mean) if mean else 0.0, float(not mean), len(runs)
        )
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    statistic = mean / math.sqrt(variance)
    return PairedTest(statistic, t_p_value(statistic, freedom), len(runs))


def paired_wilcoxon(first: Mapping[Run, float], second: Mapping[Run, float]) -> PairedTest:
    """Returns the signed-rank test over the runs or, if they are crossed, over the draws' means."""
    runs = _differences(first, second)
    if not _crossed(runs):
        return wilcoxon_signed_rank([first[r] for r in runs], [second[r] for r in runs])
    one, other = ({run: values[run] for run in runs} for values in (first, second))
    return wilcoxon_signed_rank(_means(one, 0), _means(other, 0))


def _differences(first: Mapping[Run, float], second: Mapping[Run, float]) -> dict[Run, float]:
    return complete_runs({run: first[run] - second[run] for run in sorted(first) if run in second})


def _seeds(runs: Mapping[Run, float]) -> tuple[list[int], list[int]]:
    return sorted({draw for draw, _ in runs}), sorted({base for _, base in runs})


def _one_base_per_draw(runs: Mapping[Run, float]) -> bool:
    draws, bases = _seeds(runs)
    return len(draws) == len(bases) == len(runs)


def _crossed(runs: Mapping[Run, float]) -> bool:
    draws, bases = _seeds(runs)
    return min(len(draws), len(bases)) > 1 and not _one_base_per_draw(runs)


def _means(runs: Mapping[Run, float], part: int) -> list[float]:
    """Means by the seed of the draw (``part`` 0) or of the base (1)."""
    groups: dict[int, list[float]] = {}
    for run, value in sorted(runs.items()):
        groups.setdefault(run[part], []).append(value)
    return [mean_sd(group)[0] for group in groups.values()]


def _sd(values: Iterable[float]) -> float | None:
    found = list(values)
    return mean_sd(found)[1] if len(found) > 1 else None
