"""A table of words or sub-words, less what is not in use.

A table of 75,000 words is read in a few hundred places by a batch and in a few thousand by a run.
Gradients and optimiser moments of all the other rows would cost more than everything else. Within an
iteration, the stacked parameters hold only the rows its batches read (``rows_of``, ``narrow``);
within a run, the model holds only the rows its sentences read (``ActiveVocabulary``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor, nn

from adaptner.nn.batching.batch import Batch, Batcher
from adaptner.nn.encoders.base import Encoder
from adaptner.types import Sentence

AnyBatch = TypeVar("AnyBatch", bound=Batch)


def rows_in_use(encoder: Encoder, batches: Sequence[Batch]) -> Tensor | None:
    """The rows of the table that ``batches`` read, in order; None for one that is not trained."""
    if encoder.table is None:
        return None
    return torch.cat([batch.rows.flatten() for batch in batches]).unique()


def restrict_batch(batch: AnyBatch, rows: Tensor | None) -> AnyBatch:
    """The batch as it reads a table of ``rows`` alone."""
    return batch if rows is None else replace(batch, rows=torch.searchsorted(rows, batch.rows))


class ActiveVocabulary:
    """Round a run: ``batcher`` and ``encoder`` know only the words of ``sentences``, and ``words``
    besides, until ``widen`` puts the learned rows back among all the others."""

    def __init__(
        self,
        encoder: Encoder,
        batcher: Batcher,
        sentences: Iterable[Sentence],
        words: Iterable[str] = (),
    ) -> None:
        self.batcher = batcher
        self._encoder = encoder
        self._full: Tensor | None = None
        if encoder.table is None or (fewer := batcher.restrict(sentences, words)) is None:
            return
        rows, self.batcher = fewer
        self._rows = rows.to(encoder.device)
        self._full = encoder.get_parameter(encoder.table).detach()
        _put(encoder, self._full[:, self._rows])

    def restore(self) -> None:
        if self._full is None:
            return
        assert self._encoder.table is not None
        learned = self._encoder.get_parameter(self._encoder.table).detach()
        _put(self._encoder, self._full.index_copy(1, self._rows, learned))
        self._full = None


def _put(encoder: Encoder, table: Tensor) -> None:
    assert encoder.table is not None
    holder, _, name = encoder.table.rpartition(".")
    setattr(encoder.get_submodule(holder), name, nn.Parameter(table))
