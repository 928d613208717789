"""Is one method better than another over the same draws? Every pair, level by level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from adaptner.metrics.significance import (
    holm,
    mean_sd,
    paired_t_test,
    wilcoxon_signed_rank,
)
from adaptner.reproduce.report.compare import Comparison, ComparisonRow
from adaptner.reproduce.report.levels import Level

ALPHA = 0.05
STARS = ((0.001, "***"), (0.01, "**"), (ALPHA, "*"))


@dataclass(frozen=True)
class MethodPair:
    """``difference`` is that of the means over the common draws, first less second, a fraction.
    The p-values are two-sided and Holm-corrected over all pairs of the level and column."""

    level: Level
    column: str
    first: str
    second: str
    n: int
    difference: float
    t: float
    wilcoxon: float

    @property
    def stars(self) -> str:
        """By the t-test: with five draws Wilcoxon's p cannot fall below 0.0625."""
        return next((mark for bound, mark in STARS if self.t < bound), "")


def compare_pairs(comparison: Comparison) -> list[MethodPair]:
    """All pairs of measured lines with two common draws or more, corrected family by family."""
    found: list[MethodPair] = []
    levels = dict.fromkeys(line.level for line in comparison.lines)
    for level in levels:
        lines = [n for n in comparison.lines if n.level == level and n.method and n.measured]
        for column in (*comparison.names, *comparison.own_names):
            found += _corrected(list(_family(lines, level, column)))
    return found


def _family(lines: list[ComparisonRow], level: Level, column: str) -> Iterator[MethodPair]:
    for one, other in combinations(lines, 2):
        a, b = one.cells[column].values, other.cells[column].values
        seeds = sorted(set(a) & set(b))
        if len(seeds) < 2:
            continue
        first, second = [a[s] for s in seeds], [b[s] for s in seeds]
        yield MethodPair(
            level=level,
            column=column,
            first=one.label,
            second=other.label,
            n=len(seeds),
            difference=mean_sd(first)[0] - mean_sd(second)[0],
            t=paired_t_test(first, second).p_value,
            wilcoxon=wilcoxon_signed_rank(first, second).p_value,
        )


def _corrected(family: list[MethodPair]) -> list[MethodPair]:
    t, wilcoxon = holm([p.t for p in family]), holm([p.wilcoxon for p in family])
    return [replace(pair, t=a, wilcoxon=b) for pair, a, b in zip(family, t, wilcoxon, strict=True)]
