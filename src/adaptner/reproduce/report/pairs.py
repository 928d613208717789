"""Compares each pair of methods over the runs (draws and bases) that they have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from adaptner.metrics.crossed import paired_t, paired_wilcoxon, spread
from adaptner.metrics.significance import holm
from adaptner.reproduce.report.compare import Comparison, ComparisonRow
from adaptner.reproduce.report.levels import Level

ALPHA = 0.05
_STARS = ((0.001, "***"), (0.01, "**"), (ALPHA, "*"))


@dataclass(frozen=True)
class MethodPair:
    """``difference`` is the mean of ``first`` minus that of ``second`` over ``n`` common draws and
    ``bases``, as a fraction. The p-values are two-sided and Holm-corrected over all pairs of the level
    and column that have one; a pair with a single base has none, because a test over draws alone says
    nothing about other bases."""

    level: Level
    column: str
    first: str
    second: str
    n: int
    bases: int
    difference: float
    t_test_p: float | None = None
    wilcoxon_p: float | None = None

    @property
    def stars(self) -> str:
        """By the t-test: with five draws, Wilcoxon's p cannot fall below 0.0625."""
        p = 1.0 if self.t_test_p is None else self.t_test_p
        return next((mark for bound, mark in _STARS if p < bound), "")

    @property
    def significant(self) -> bool:
        return self.t_test_p is not None and self.t_test_p < ALPHA


def compare_pairs(comparison: Comparison) -> list[MethodPair]:
    """Returns all pairs of measured rows with at least two common runs."""
    found: list[MethodPair] = []
    for level in dict.fromkeys(row.level for row in comparison.rows):
        rows = [r for r in comparison.rows if r.level == level and r.method and r.measured]
        for column in (*comparison.names, *comparison.additional_names):
            found += _corrected(list(_pairs(rows, level, column)))
    return found


def _pairs(rows: list[ComparisonRow], level: Level, column: str) -> Iterator[MethodPair]:
    for row, other in combinations(rows, 2):
        a, b = row.cells[column].values, other.cells[column].values
        differences = {run: a[run] - b[run] for run in set(a) & set(b)}
        if len(differences) < 2:
            continue
        found = spread(differences)
        pair = MethodPair(
            level, column, row.label, other.label, found.draws, found.bases, found.mean
        )
        if found.bases > 1:
            t_test, wilcoxon = paired_t(a, b).p_value, paired_wilcoxon(a, b).p_value
            pair = replace(pair, t_test_p=t_test, wilcoxon_p=wilcoxon)
        yield pair


def _corrected(pairs: list[MethodPair]) -> list[MethodPair]:
    t_test = iter(holm([p.t_test_p for p in pairs if p.t_test_p is not None]))
    wilcoxon = iter(holm([p.wilcoxon_p for p in pairs if p.wilcoxon_p is not None]))
    return [
        pair
        if pair.t_test_p is None
        else replace(pair, t_test_p=next(t_test), wilcoxon_p=next(wilcoxon))
        for pair in pairs
    ]
