"""Tuned word vectors, less what is not in use.

A table of 75,000 words is read in a few hundred places by a batch and in a few thousand by a run.
Gradients and optimiser moments of all the other rows would cost more than everything else. Within an
iteration, the stacked parameters hold only the rows its batches read (``rows_of``, ``narrow``);
within a run, the model holds only the rows its sentences read (``NarrowTable``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from adaptner.nn.batch import Batch, Batcher
from adaptner.nn.encoder import RecurrentEncoder
from adaptner.nn.vectors import WordVectors
from adaptner.nn.words import TunedWords
from adaptner.types import Sentence


def rows_of(encoder: RecurrentEncoder, batches: Sequence[Batch]) -> Tensor | None:
    """The rows of the word table that ``batches`` read, in order; None for frozen vectors."""
    if not isinstance(encoder.words, TunedWords):
        return None
    return torch.cat([batch.rows.flatten() for batch in batches]).unique()


def narrow(batch: Batch, rows: Tensor | None) -> Batch:
    """The batch as it reads a table of ``rows`` alone."""
    return batch if rows is None else replace(batch, rows=torch.searchsorted(rows, batch.rows))


class NarrowTable:
    """Round a run: ``batcher`` and ``encoder`` know only the words of ``sentences``, and ``words``
    besides, until ``widen`` puts the learned rows back among all the others."""

    def __init__(
        self,
        encoder: RecurrentEncoder,
        batcher: Batcher,
        sentences: Iterable[Sentence],
        words: Iterable[str] = (),
    ) -> None:
        self.batcher = batcher
        self._encoder = encoder
        self._full: Tensor | None = None
        layer = encoder.words
        if not isinstance(layer, TunedWords):
            return
        vectors = batcher.vectors
        read = {vectors.row(word) for s in sentences for word in s.tokens}
        read.update(map(vectors.row, words))
        kept = sorted(read - {len(vectors.words)})
        if len(kept) == len(vectors.words):
            return
        self._full = layer.table.detach()
        self._rows = torch.tensor([*kept, len(vectors.words)])
        layer.table = nn.Parameter(self._full[:, self._rows])
        narrowed = WordVectors(  # without n-grams, which tuned vectors drop (see TunedWords)
            tuple(vectors.words[row] for row in kept),
            np.zeros((len(kept), vectors.width), dtype=np.float32),  # the values are in the encoder
        )
        self.batcher = Batcher(narrowed, batcher.alphabet)

    def widen(self) -> None:
        words = self._encoder.words
        if self._full is None:
            return
        assert isinstance(words, TunedWords)
        words.table = nn.Parameter(self._full.index_copy(1, self._rows, words.table.detach()))
        self._full = None
