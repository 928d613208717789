"""What a tagger has made of the words it met first, kept from batch to batch.

Most of a text is a few thousand words, over and over; what a word alone decides (its vector, its
spelling, what of them reaches the gates of a recurrent layer and the scores of tags) need be computed
once, as long as no parameter changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
import torch
from torch import Tensor

# Words that are kept; a BiLSTM's gates take some six kilobytes of each.
MAX_WORDS = 6000

ComputeWords = Callable[[np.ndarray], tuple[Tensor, ...]]  # places of words to tables, a row a word


class _Kept:
    def __init__(self, known: object) -> None:
        self.known = known
        self.filled = np.zeros(MAX_WORDS, dtype=bool)
        self.tables: tuple[Tensor, ...] = ()
        self._adding = Lock()

    def add(self, numbers: np.ndarray, values: Sequence[Tensor]) -> None:
        with self._adding:
            if not self.tables:
                self.tables = tuple(v.new_zeros(MAX_WORDS, v.shape[1]) for v in values)
            for table, part in zip(self.tables, values, strict=True):
                table.index_copy_(0, _indices(numbers, table), part)
            self.filled[numbers] = True


class WordCache:
    """May be asked from several threads: a word is said to be kept after it is."""

    def __init__(self) -> None:
        self._kept = _Kept(None)

    def rows(self, known: object, numbers: np.ndarray, fresh: ComputeWords) -> tuple[Tensor, ...]:
        """What ``fresh`` gives for the words ``numbers`` (W,): it is asked for those only that are not
        kept. Words are numbered as they are met, so that the first numbers are the frequent ones.
        All is forgotten when ``known`` is another: who gave the numbers, and with which parameters."""
        kept = self._kept
        if kept.known != known:
            kept = self._kept = _Kept(known)
        able = numbers < MAX_WORDS
        have = able & kept.filled[np.where(able, numbers, 0)]
        missing = np.flatnonzero(~have)
        if len(missing) == len(numbers):
            values = found = fresh(missing)
        else:
            there = _indices(numbers * have, kept.tables[0])
            found = tuple(table.index_select(0, there) for table in kept.tables)
            values = fresh(missing) if len(missing) else ()
            places = _indices(missing, found[0])
            for whole, part in zip(found, values, strict=False):
                whole.index_copy_(0, places, part)
        if len(new := np.flatnonzero(able[missing])):
            kept.add(numbers[missing][new], [part[_indices(new, part)] for part in values])
        return found


def _indices(numbers: np.ndarray, table: Tensor) -> Tensor:
    return torch.from_numpy(numbers).to(table.device)
