"""The word-vector layer of an encoder: frozen rows of a table, or a tuned copy of it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from adaptner.nn.vectors import WordVectors


class FrozenWords(nn.Module):
    """Looks rows up in the (memory-mapped) table; unknown words are zero. No parameters, so an inner
    loop never copies it."""

    def __init__(self, vectors: WordVectors) -> None:
        super().__init__()
        self._table = vectors.table
        self._unknown = len(vectors.words)
        self.width = vectors.width

    def __deepcopy__(self, memo: object) -> FrozenWords:
        return self  # nothing in it ever changes

    def forward(self, rows: Tensor) -> Tensor:
        """(G, W) -> (G, W, width)"""
        numbers = rows.numpy()
        known = numbers < self._unknown
        found = np.zeros((*numbers.shape, self.width), dtype=np.float32)
        found[known] = self._table[numbers[known]]
        return torch.from_numpy(found)


class TunedWords(nn.Module):
    """A trainable copy with one more row for unknown words, which starts at zero."""

    def __init__(self, vectors: WordVectors) -> None:
        super().__init__()
        blank = np.zeros((1, vectors.width), dtype=np.float32)
        self.table = nn.Parameter(torch.from_numpy(np.concatenate([vectors.table, blank]))[None])
        self.width = vectors.width

    def forward(self, rows: Tensor) -> Tensor:
        tasks, count, width = self.table.shape
        offset = torch.arange(tasks)[:, None] * count
        return F.embedding(rows + offset, self.table.reshape(-1, width))
