"""Restricts an embedding table to the rows that are needed.

Of a table of 75,000 words, a batch uses a few hundred rows and a run a few thousand. Gradients and
optimiser moments for all rows would cost more than everything else. During an iteration, the stacked
parameters hold only the rows of its batches (``rows_in_use``, ``restrict_batch``); during a run, the model
holds only the rows of its sentences (``ActiveVocabulary``).
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
    """The rows of the embedding table that ``batches`` use, ascending; None if it is not trained."""
    if encoder.table is None:
        return None
    return torch.cat([batch.rows.flatten() for batch in batches]).unique()


def restrict_batch(batch: AnyBatch, rows: Tensor | None) -> AnyBatch:
    """The batch, renumbered for a table that holds only ``rows``."""
    return batch if rows is None else replace(batch, rows=torch.searchsorted(rows, batch.rows))


class ActiveVocabulary:
    """Restricts the table of ``encoder`` to the words of ``sentences`` and to ``words`` for one run.

    ``batcher`` makes batches for the restricted table; ``restore`` puts the trained rows back into the
    full table."""

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
        if encoder.table is None or (restricted := batcher.restrict(sentences, words)) is None:
            return
        rows, self.batcher = restricted
        self._rows = rows.to(encoder.device)
        self._full = encoder.get_parameter(encoder.table).detach()
        _set_table(encoder, self._full[:, self._rows])

    def restore(self) -> None:
        if self._full is None:
            return
        assert self._encoder.table is not None
        trained = self._encoder.get_parameter(self._encoder.table).detach()
        _set_table(self._encoder, self._full.index_copy(1, self._rows, trained))
        self._full = None


def _set_table(encoder: Encoder, table: Tensor) -> None:
    assert encoder.table is not None
    holder, _, name = encoder.table.rpartition(".")
    setattr(encoder.get_submodule(holder), name, nn.Parameter(table))
