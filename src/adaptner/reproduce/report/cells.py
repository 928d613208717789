"""One cell of the comparison: our draws, the published figure and the verdict on both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from adaptner.metrics.significance import Interval, mean_sd, t_interval
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.tables.published import Slip

WITHIN, ABOVE, BELOW = "within", "above", "below"
NOT_COMPARABLE, MISSING = "not comparable", "missing"
VERDICTS = (WITHIN, ABOVE, BELOW, NOT_COMPARABLE, MISSING)
CONFIDENCE = 0.95
_ROUNDING = 1e-9  # error of binary fractions; one unit of a printed digit is at least 1e-6


@dataclass(frozen=True)
class ComparisonCell:
    """``values`` are our draws by seed and ``published`` is the paper's figure, both as fractions.

    The verdict is ``within`` if the published figure lies in the 95 % interval of our mean,
    ``above`` if our mean is higher, ``below`` if it is lower. ``objection`` says why the two must
    not be compared, ``absence`` why there are no values.
    """

    column: str
    values: Mapping[int, float] = field(default_factory=dict)
    published: float | None = None
    objection: str = ""
    absence: str = ""
    slips: tuple[Slip, ...] = ()
    results: tuple[StoredResult, ...] = ()

    @property
    def n(self) -> int:
        return len(self.values)

    @cached_property
    def mean(self) -> float | None:
        return mean_sd(list(self.values.values()))[0] if self.values else None

    @cached_property
    def sd(self) -> float | None:
        """With n - 1; None for a single draw."""
        return None if self.n < 2 else mean_sd(list(self.values.values()))[1]

    @cached_property
    def interval(self) -> Interval | None:
        return None if self.n < 2 else t_interval(list(self.values.values()), CONFIDENCE)

    @property
    def verdict(self) -> str:
        if not self.values:
            return MISSING
        if self.reason or self.interval is None or self.published is None:
            return NOT_COMPARABLE
        if self.published < self.interval.low - _ROUNDING:
            return ABOVE
        if self.published > self.interval.high + _ROUNDING:
            return BELOW
        return WITHIN

    @property
    def reason(self) -> str:
        """Why a cell is missing or not comparable; empty for the others."""
        if not self.values:
            return self.absence or "no result"
        if self.objection:
            return self.objection
        if self.published is None:
            return "the paper has no figure here"
        return "a single draw has no interval" if self.n < 2 else ""
