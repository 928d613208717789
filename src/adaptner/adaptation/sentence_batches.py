"""Batches of sentences: without replacement, and of similar length if there are many sentences."""

from __future__ import annotations

import random
from collections.abc import Sequence

from adaptner.types import Sentence

# From this many batches on, a batch holds sentences of similar length: its longest sentence decides
# how many steps the recurrent layer takes (on SEC a step then takes a third of the time).
POOL = 20


class SentenceBatches:
    """Batches of ``size`` sentences; every sentence comes once before any comes again."""

    def __init__(self, sentences: Sequence[Sentence], size: int, rng: random.Random) -> None:
        self._sentences = list(sentences)
        self._size = min(size, len(self._sentences))
        self._rng = rng
        self._queue: list[Sentence] = []

    def next(self) -> list[Sentence]:
        size = self._size
        if len(self._queue) < size:
            shuffled = self._rng.sample(self._sentences, len(self._sentences))
            missing = -len(self._queue) % size  # to complete the batch that the queue begins
            self._queue = [
                *self._queue,
                *shuffled[:missing],
                *self._group_by_length(shuffled[missing:]),
            ]
        batch, self._queue = self._queue[:size], self._queue[size:]
        return batch

    def _group_by_length(self, shuffled: list[Sentence]) -> list[Sentence]:
        size = self._size
        if len(shuffled) < POOL * size:
            return shuffled
        batches = []
        for start in range(0, len(shuffled), POOL * size):
            pool = sorted(shuffled[start : start + POOL * size], key=len)
            batches += [pool[i : i + size] for i in range(0, len(pool), size)]
        # An incomplete batch goes last: elsewhere it would shift the borders of all that follow.
        incomplete = batches.pop() if len(batches[-1]) < size else []
        self._rng.shuffle(batches)
        return [s for batch in (*batches, incomplete) for s in batch]
