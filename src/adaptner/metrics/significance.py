"""Is one method better than another over the same draws? Paired tests, correction, intervals."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptner.errors import BadUsage
from adaptner.metrics.student import critical_value, two_sided_p

EXACT_UP_TO = 25


@dataclass(frozen=True)
class PairedTest:
    """A two-sided test over pairs. ``n`` is the number of pairs the test could use."""

    statistic: float
    p_value: float
    n: int


@dataclass(frozen=True)
class Interval:
    """A mean and the confidence interval around it."""

    mean: float
    low: float
    high: float


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Student's t over the differences; no difference anywhere gives p = 1."""
    differences = _differences(first, second, at_least=2)
    n = len(differences)
    mean, sd = mean_sd(differences)
    if sd == 0:
        t = 0.0 if mean == 0 else math.copysign(math.inf, mean)
    else:
        t = mean / (sd / math.sqrt(n))
    return PairedTest(t, two_sided_p(t, n - 1), n)


def wilcoxon_signed_rank(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Wilcoxon's signed-rank test; equal pairs are dropped, ties share their mean rank.

    The p-value is exact, ties included, up to 25 differing pairs; above that it is the normal
    approximation with tie correction. The statistic is the smaller of the two rank sums.
    """
    differences = [d for d in _differences(first, second, at_least=1) if d != 0]
    n = len(differences)
    if n == 0:
        return PairedTest(0.0, 1.0, 0)
    doubled = _doubled_mid_ranks([abs(d) for d in differences])
    above = sum(rank for rank, d in zip(doubled, differences, strict=True) if d > 0)
    smaller = min(above, sum(doubled) - above)
    if n <= EXACT_UP_TO:
        p = _exact_signed_rank_p(doubled, smaller)
    else:
        p = _normal_signed_rank_p(doubled, smaller)
    return PairedTest(smaller / 2, p, n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: adjusted p-values in the order given."""
    m = len(p_values)
    adjusted = [0.0] * m
    running = 0.0
    for rank, i in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (m - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted


def mean_sd(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation (n - 1); the latter is nan for a single value."""
    _require(len(values) >= 1, "no values to take a mean of")
    # statistics adds exactly, so equal values have a deviation of exactly 0.
    sd = statistics.stdev(values) if len(values) > 1 else math.nan
    return statistics.fmean(values), sd


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Confidence interval of the mean under Student's t."""
    _require(len(values) >= 2, "an interval needs two values or more")
    _require(0 < confidence < 1, f"a confidence of {confidence} is not between 0 and 1")
    mean, sd = mean_sd(values)
    half = critical_value(confidence, len(values) - 1) * sd / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def bootstrap_interval(
    values: Sequence[float],
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Interval:
    """Percentile bootstrap interval of the mean, where normality is not to be assumed."""
    _require(len(values) >= 2, "an interval needs two values or more")
    _require(0 < confidence < 1, f"a confidence of {confidence} is not between 0 and 1")
    sample = np.asarray(values, dtype=float)
    means = rng.choice(sample, size=(resamples, len(sample))).mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(sample.mean()), float(low), float(high))


def _differences(first: Sequence[float], second: Sequence[float], at_least: int) -> list[float]:
    _require(
        len(first) == len(second), f"{len(first)} values against {len(second)}: no pairs to test"
    )
    _require(len(first) >= at_least, f"{len(first)} pair(s), where {at_least} or more are needed")
    _require(all(map(math.isfinite, (*first, *second))), "a value is not a finite number")
    # 0.3 - 0.1 and 0.4 - 0.2 are a tie to us: forget what only binary fractions tell apart.
    scale = max(map(abs, (*first, *second)), default=0.0)
    digits = 0 if scale == 0 else 12 - math.ceil(math.log10(scale))
    return [round(a - b, digits) for a, b in zip(first, second, strict=True)]


def _doubled_mid_ranks(sizes: list[float]) -> list[int]:
    """Twice the mid-ranks, so that they are whole numbers."""
    count = Counter(sizes)
    doubled: dict[float, int] = {}
    below = 0
    for size in sorted(count):
        doubled[size] = 2 * below + count[size] + 1
        below += count[size]
    return [doubled[size] for size in sizes]


def _exact_signed_rank_p(doubled: list[int], smaller: int) -> float:
    """Of all 2^n choices of signs, the share with a rank sum as far out, on either side."""
    ways = [1] + [0] * sum(doubled)
    reach = 0
    for rank in doubled:
        reach += rank
        for total in range(reach, rank - 1, -1):
            ways[total] += ways[total - rank]
    return min(1.0, 2 * sum(ways[: smaller + 1]) / (1 << len(doubled)))


def _normal_signed_rank_p(doubled: list[int], smaller: int) -> float:
    n = len(doubled)
    ties = sum(t**3 - t for t in Counter(doubled).values())
    variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48
    z = (smaller / 2 - n * (n + 1) / 4) / math.sqrt(variance)
    return min(1.0, math.erfc(abs(z) / math.sqrt(2)))


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise BadUsage(problem=problem, remedy="give one value per draw for each method")
