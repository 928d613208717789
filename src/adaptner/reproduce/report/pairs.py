"""Tests each pair of methods for a difference over their common draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from adaptner.metrics.significance import holm, mean_sd, paired_t_test, wilcoxon_signed_rank
from adaptner.reproduce.report.compare import Comparison, ComparisonRow
from adaptner.reproduce.report.levels import Level

ALPHA = 0.05
_STARS = ((0.001, "***"), (0.01, "**"), (ALPHA, "*"))


@dataclass(frozen=True)
class MethodPair:
    """``difference`` is the mean of ``first`` minus that of ``second`` over ``n`` common draws, as a
    fraction. The p-values are two-sided and Holm-corrected over all pairs of the level and column."""

    level: Level
    column: str
    first: str
    second: str
    n: int
    difference: float
    t_test_p: float
    wilcoxon_p: float

    @property
    def stars(self) -> str:
        """By the t-test: with five draws, Wilcoxon's p cannot fall below 0.0625."""
        return next((mark for bound, mark in _STARS if self.t_test_p < bound), "")


def compare_pairs(comparison: Comparison) -> list[MethodPair]:
    """Returns all pairs of measured rows with at least two common draws."""
    found: list[MethodPair] = []
    for level in dict.fromkeys(row.level for row in comparison.rows):
        rows = [r for r in comparison.rows if r.level == level and r.method and r.measured]
        for column in (*comparison.names, *comparison.additional_names):
            found += _corrected(list(_pairs(rows, level, column)))
    return found


def _pairs(rows: list[ComparisonRow], level: Level, column: str) -> Iterator[MethodPair]:
    for row, other in combinations(rows, 2):
        a, b = row.cells[column].values, other.cells[column].values
        seeds = sorted(set(a) & set(b))
        if len(seeds) < 2:
            continue
        first, second = [a[s] for s in seeds], [b[s] for s in seeds]
        yield MethodPair(
            level=level,
            column=column,
            first=row.label,
            second=other.label,
            n=len(seeds),
            difference=mean_sd(first)[0] - mean_sd(second)[0],
            t_test_p=paired_t_test(first, second).p_value,
            wilcoxon_p=wilcoxon_signed_rank(first, second).p_value,
        )


def _corrected(pairs: list[MethodPair]) -> list[MethodPair]:
    t_test, wilcoxon = holm([p.t_test_p for p in pairs]), holm([p.wilcoxon_p for p in pairs])
    return [
        replace(pair, t_test_p=t, wilcoxon_p=w)
        for pair, t, w in zip(pairs, t_test, wilcoxon, strict=True)
    ]
