"""What a method may spend: every method and baseline gets the same."""

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
    """Seconds since it was started, going on from where an interrupted run left off."""

    def __init__(self, already: float = 0.0) -> None:
        self._begun = time.monotonic() - already

    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def share_spent(self, budget: Budget, steps_done: int) -> float:
        """How much of the budget is gone, 0 to 1: what a schedule goes by."""
        by_steps = steps_done / budget.steps if budget.steps else 1.0
        by_time = self.seconds() / budget.seconds if budget.seconds else 0.0
        return min(1.0, max(by_steps, by_time))
