"""The loop under every adaptation: batches, budget, divergence, progress."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from adaptner.errors import TrainingDiverged
from adaptner.progress import ProgressCallback
from adaptner.training.budget import Budget, Clock
from adaptner.training.optimiser import Optimiser
from adaptner.types import Sentence

# With this many batches or more, a batch holds sentences of like length: the longest one sets how
# many steps the recurrent layer takes (SEC: a step in a third of the time).
POOL = 20


class SentenceBatches:
    """``size`` sentences at a time, every sentence once before any comes again."""

    def __init__(self, sentences: Sequence[Sentence], size: int, rng: random.Random) -> None:
        self._sentences = list(sentences)
        self._size = min(size, len(self._sentences))
        self._rng = rng
        self._queue: list[Sentence] = []

    def next(self) -> list[Sentence]:
        size = self._size
        if len(self._queue) < size:
            fresh = self._rng.sample(self._sentences, len(self._sentences))
            begun = -len(self._queue) % size  # sentences that complete the batch in hand
            self._queue = [*self._queue, *fresh[:begun], *self._by_length(fresh[begun:])]
        chosen, self._queue = self._queue[:size], self._queue[size:]
        return chosen

    def _by_length(self, shuffled: list[Sentence]) -> list[Sentence]:
        size = self._size
        if len(shuffled) < POOL * size:
            return shuffled
        batches = []
        for at in range(0, len(shuffled), POOL * size):
            pool = sorted(shuffled[at : at + POOL * size], key=len)
            batches += [pool[i : i + size] for i in range(0, len(pool), size)]
        # A short one in between would shift all that follow off their lengths.
        short = batches.pop() if len(batches[-1]) < size else []
        self._rng.shuffle(batches)
        return [s for batch in (*batches, short) for s in batch]


def never(steps: int) -> bool:
    """For those who spend their budget."""
    return False


def take_steps(
    fill: Callable[[], float],
    optimiser: Optimiser,
    budget: Budget,
    progress: ProgressCallback,
    stop: Callable[[int], bool] = never,
) -> int:
    """Call ``fill`` (which sets ``.grad`` and returns the loss) and step until the budget is spent or
    ``stop``, asked after every step, says so.

    The number of steps taken."""
    clock = Clock()
    for step in range(budget.steps):
        if budget.seconds is not None and clock.seconds() >= budget.seconds:
            return step
        loss = fill()
        norm = optimiser.step(clock.share_spent(budget, step))
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainingDiverged(
                loss=f"{loss} and its gradient {norm}",
                iteration=step + 1,
                rates=optimiser.config.rate,
                kept="no model was written",
            )
        progress(step + 1, budget.steps, f"loss {loss:.2f}")
        if stop(step + 1):
            return step + 1
    return budget.steps
