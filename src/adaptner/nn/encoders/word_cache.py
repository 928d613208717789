"""Caches what depends on a word alone, so that frequent words are computed once.

Most of a text consists of a few thousand words. The gates of the recurrent layer and the tag scores that
a word contributes do not depend on its context, and stay valid as long as no parameter changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
import torch
from torch import Tensor

# The gates of a BiLSTM take about six kilobytes per word.
MAX_WORDS = 6000

# From positions of words to tables with a row for each of them
ComputeWords = Callable[[np.ndarray], tuple[Tensor, ...]]


class _Tables:
    def __init__(self, key: object) -> None:
        self.key = key
        self.filled = np.zeros(MAX_WORDS, dtype=bool)
        self.tables: tuple[Tensor, ...] = ()
        self._adding = Lock()

    def add(self, word_ids: np.ndarray, values: Sequence[Tensor]) -> None:
        with self._adding:
            if not self.tables:
                self.tables = tuple(v.new_zeros(MAX_WORDS, v.shape[1]) for v in values)
            for table, part in zip(self.tables, values, strict=True):
                table.index_copy_(0, _indices(word_ids, table), part)
            self.filled[word_ids] = True


class WordCache:
    """Thread-safe: a word is marked as cached only after its rows are written."""

    def __init__(self) -> None:
        self._tables = _Tables(None)

    def rows(self, key: object, word_ids: np.ndarray, compute: ComputeWords) -> tuple[Tensor, ...]:
        """The result of ``compute`` for ``word_ids`` (W,), which is called only for missing words.

        Only ids below ``MAX_WORDS`` are cached: ids are given in the order in which words are first
        met, so these are the frequent words. A new ``key`` (word index and parameters) empties the
        cache."""
        tables = self._tables
        if tables.key != key:
            tables = self._tables = _Tables(key)
        cacheable = word_ids < MAX_WORDS
        cached = cacheable & tables.filled[np.where(cacheable, word_ids, 0)]
        missing = np.flatnonzero(~cached)
        if len(missing) == len(word_ids):
            computed = rows = compute(missing)
        else:
            selected = _indices(word_ids * cached, tables.tables[0])
            rows = tuple(table.index_select(0, selected) for table in tables.tables)
            computed = compute(missing) if len(missing) else ()
            places = _indices(missing, rows[0])
            for whole, part in zip(rows, computed, strict=False):
                whole.index_copy_(0, places, part)
        if len(new := np.flatnonzero(cacheable[missing])):
            tables.add(word_ids[missing][new], [part[_indices(new, part)] for part in computed])
        return rows


def _indices(numbers: np.ndarray, table: Tensor) -> Tensor:
    return torch.from_numpy(numbers).to(table.device)
