"""The training budget, which is the same for every method and baseline."""

from __future__ import annotations

import time
from dataclasses import dataclass

from adaptner.errors import BudgetTooSmall


@dataclass(frozen=True)
class Budget:
    """At most ``steps`` updates and ``seconds`` of wall clock, whichever ends first."""

    steps: int
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.steps < 0 or (self.seconds is not None and self.seconds <= 0):
            raise BudgetTooSmall(budget=f"{self.steps} steps and {self.seconds} seconds")


class Clock:
    """Seconds of training, including those of the interrupted run that is resumed (``already``)."""

    def __init__(self, already: float = 0.0) -> None:
        self._start = time.monotonic() - already

    def seconds(self) -> float:
        return time.monotonic() - self._start

    def share_spent(self, budget: Budget, steps_done: int) -> float:
        """The share of the budget that is spent, 0 to 1, for the schedule of the learning rate."""
        by_steps = steps_done / budget.steps if budget.steps else 1.0
        by_time = self.seconds() / budget.seconds if budget.seconds else 0.0
        return min(1.0, max(by_steps, by_time))
