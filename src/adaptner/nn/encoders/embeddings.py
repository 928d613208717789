"""The word-vector layer of an encoder: frozen rows of a table, or a tuned copy of it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from adaptner.nn.batching.word_batch import NgramRows
from adaptner.vectors.word_vectors import WordVectors


class FrozenEmbeddings(nn.Module):
    """Looks rows up in the (memory-mapped or packed) table; a word without a row is the mean of its
    pieces, or zero if it has none. No parameters, so an inner loop never copies it."""

    def __init__(self, vectors: WordVectors) -> None:
        super().__init__()
        self._table = vectors.table
        self._grams = vectors.grams
        self._unknown = len(vectors.words)
        self.width = vectors.width

    def __deepcopy__(self, memo: object) -> FrozenEmbeddings:
        return self  # nothing in it ever changes

    def forward(self, rows: Tensor, pieces: NgramRows | None = None) -> Tensor:
        """(G, W) -> (G, W, width)"""
        numbers = rows.cpu().numpy()
        known = numbers < self._unknown
        found = np.zeros((*numbers.shape, self.width), dtype=np.float32)
        found[known] = self._table[numbers[known]]
        looked_up = torch.from_numpy(found)
        if pieces is not None:
            looked_up.view(-1, self.width)[pieces.places] = self._made_up(pieces)
        return looked_up.to(rows.device)

    def _made_up(self, pieces: NgramRows) -> Tensor:
        """(words, width). Each n-gram is unpacked once, however many words share it, so that memory
        is bounded by the table of n-grams."""
        assert self._grams is not None  # pieces are its rows
        distinct, each = np.unique(pieces.rows.numpy(), return_inverse=True)
        unpacked = torch.from_numpy(self._grams.table[distinct])
        return F.embedding_bag(torch.from_numpy(each), unpacked, pieces.starts, mode="mean")


class TrainableEmbeddings(nn.Module):
    """A trainable copy with one more row for unknown words, which starts at zero.

    n-grams are dropped: fixed ones would not follow the table as it moves away from them, so unknown
    words share the one row, as with vectors that never had any."""

    def __init__(self, vectors: WordVectors) -> None:
        super().__init__()
        blank = np.zeros((1, vectors.width), dtype=np.float32)
        table = np.asarray(vectors.table)  # unpacked, if it is packed
        self.table = nn.Parameter(torch.from_numpy(np.concatenate([table, blank]))[None])
        self.width = vectors.width

    def forward(self, rows: Tensor, pieces: NgramRows | None = None) -> Tensor:
        tasks, count, width = self.table.shape
        offset = torch.arange(tasks, device=rows.device)[:, None] * count
        return F.embedding(rows + offset, self.table.reshape(-1, width))
