"""Paired significance tests over draws, Holm's correction and confidence intervals.

The tests and intervals use scipy, which is part of the extra ``reproduce`` and is imported when
needed. ``mean_sd`` and ``holm`` work without it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from adaptner.errors import ExtraMissing, UsageError


@dataclass(frozen=True)
class PairedTest:
    """A two-sided test. ``n`` is the number of pairs that the test could use."""

    statistic: float
    p_value: float
    n: int


@dataclass(frozen=True)
class Interval:
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Returns Student's t-test over the differences, which needs at least two pairs."""
    differences = _differences(first, second, at_least=2)
    n = len(differences)
    if len(set(differences)) == 1:  # scipy returns nan if the differences have no variance
        difference = differences[0]
        if difference == 0:
            return PairedTest(0.0, 1.0, n)
        return PairedTest(math.copysign(math.inf, difference), 0.0, n)
    result = _scipy_stats().ttest_1samp(differences, 0)
    return PairedTest(float(result.statistic), float(result.pvalue), n)


def t_p_value(statistic: float, freedom: float) -> float:
    """Returns the two-sided p-value under Student's t with ``freedom`` degrees of freedom."""
    return 2 * float(_scipy_stats().t.sf(abs(statistic), freedom))


def wilcoxon_signed_rank(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Returns Wilcoxon's signed-rank test without the pairs that are equal.

    The p-value is exact for up to 50 pairs without ties and up to 13 pairs with ties. Above that,
    scipy approximates it by a normal distribution. The statistic is the smaller rank sum.
    """
    differences = [d for d in _differences(first, second, at_least=1) if d != 0]
    if not differences:
        return PairedTest(0.0, 1.0, 0)
    result = _scipy_stats().wilcoxon(differences)
    return PairedTest(float(result.statistic), float(result.pvalue), len(differences))


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values adjusted by Holm's step-down correction, in the order of ``p_values``.

    Our own code, because scipy has no Holm correction and statsmodels is a large dependency.
    """
    m = len(p_values)
    adjusted = [0.0] * m
    running = 0.0
    for rank, i in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (m - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted


def mean_sd(values: Sequence[float]) -> tuple[float, float]:
    """Returns mean and sample standard deviation (n - 1), which is nan for a single value."""
    _require(len(values) >= 1, "there are no values to average")
    # statistics adds exactly, so that equal values have a deviation of exactly 0.
    sd = statistics.stdev(values) if len(values) > 1 else math.nan
    return statistics.fmean(values), sd


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Returns the confidence interval of the mean under Student's t distribution."""
    _require(len(values) >= 2, "an interval needs at least two values")
    _require(0 < confidence < 1, f"confidence {confidence} is not between 0 and 1")
    mean, sd = mean_sd(values)
    critical = float(_scipy_stats().t.ppf((1 + confidence) / 2, len(values) - 1))
    half = critical * sd / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def _differences(first: Sequence[float], second: Sequence[float], at_least: int) -> list[float]:
    _require(len(first) == len(second), f"{len(first)} values cannot pair with {len(second)}")
    _require(len(first) >= at_least, f"the test needs at least {at_least} pairs, not {len(first)}")
    _require(all(map(math.isfinite, (*first, *second))), "a value is not a finite number")
    # 0.3 - 0.1 and 0.4 - 0.2 must tie: round away what only binary fractions distinguish.
    scale = max(map(abs, (*first, *second)), default=0.0)
    digits = 0 if scale == 0 else 12 - math.ceil(math.log10(scale))
    return [round(a - b, digits) for a, b in zip(first, second, strict=True)]


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise UsageError(problem=problem, remedy="give one value per draw for each method")


def _scipy_stats() -> ModuleType:
    try:
        import scipy.stats
    except ImportError as error:
        raise ExtraMissing(
            what="a significance test", package="scipy", extra="reproduce"
        ) from error
    module: ModuleType = scipy.stats
    return module
