"""One cell of the comparison: our runs, the published figure and the verdict on both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from adaptner.metrics.crossed import Run, Spread, interval, spread
from adaptner.metrics.significance import Interval, mean_sd
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.tables.published import Slip

WITHIN, ABOVE, BELOW = "within", "above", "below"
NOT_COMPARABLE, MISSING = "not comparable", "missing"
VERDICTS = (WITHIN, ABOVE, BELOW, NOT_COMPARABLE, MISSING)
CONFIDENCE = 0.95
_ROUNDING = 1e-9  # error of binary fractions; one unit of a printed digit is at least 1e-6


@dataclass(frozen=True)
class ComparisonCell:
    """``values`` are our runs and ``published`` is the paper's figure, both as fractions.

    The verdict is ``within`` if the published figure lies in the 95 % interval of our mean,
    ``above`` if our mean is higher, ``below`` if it is lower. ``objection`` says why the two must
    not be compared, ``absence`` why there are no values.
    """

    column: str
    values: Mapping[Run, float] = field(default_factory=dict)
    published: float | None = None
    objection: str = ""
    absence: str = ""
    slips: tuple[Slip, ...] = ()
    results: tuple[StoredResult, ...] = ()

    @cached_property
    def spread(self) -> Spread | None:
        return spread(self.values) if self.values else None

    @property
    def n(self) -> int:
        """The number of draws."""
        return self.spread.draws if self.spread else 0

    @property
    def bases(self) -> int:
        return self.spread.bases if self.spread else 0

    @property
    def mean(self) -> float | None:
        return self.spread.mean if self.spread else None

    @property
    def sd(self) -> float | None:
        """The root of the variances over draws and over bases; None for a single run."""
        return self.spread.sd if self.spread else None

    @cached_property
    def interval(self) -> Interval | None:
        return interval(self.values, CONFIDENCE) if self.values else None

    @cached_property
    def mentions(self) -> list[int]:
        """The number of entities in each draw."""
        return list({(r.target, r.seed): r.entities for r in self.results}.values())

    @property
    def empty_draws(self) -> int:
        return sum(number == 0 for number in self.mentions)

    @property
    def mean_mentions(self) -> float | None:
        return mean_sd(self.mentions)[0] if self.mentions else None

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
        return "a single draw has no interval" if self.interval is None else ""
