"""The word-vector layer of an encoder, frozen or trained."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from adaptner.nn.batching.word_batch import NgramRows
from adaptner.vectors.word_vectors import WordVectors


class FrozenEmbeddings(nn.Module):
    """Looks up rows in a table of word vectors, which stays in the CPU's memory (mapped or packed).

    A word without a row is the mean of its n-grams, or zero without n-grams. The layer has no parameters,
    so an inner loop never copies it."""

    def __init__(self, vectors: WordVectors) -> None:
        super().__init__()
        self._table = vectors.table
        self._grams = vectors.grams
        self._unknown = len(vectors.words)
        self.width = vectors.width

    def __deepcopy__(self, memo: object) -> FrozenEmbeddings:
        return self  # it never changes

    def forward(self, rows: Tensor, pieces: NgramRows | None = None) -> Tensor:
        """Vectors (G, W, width) of ``rows`` (G, W)."""
        row_numbers = rows.cpu().numpy()
        known = row_numbers < self._unknown
        table_rows = np.zeros((*row_numbers.shape, self.width), dtype=np.float32)
        table_rows[known] = self._table[row_numbers[known]]
        vectors = torch.from_numpy(table_rows)
        if pieces is not None:
            vectors.view(-1, self.width)[pieces.places] = self._ngram_means(pieces)
        return vectors.to(rows.device)

    def _ngram_means(self, pieces: NgramRows) -> Tensor:
        """Vectors (words, width) of words without a row. Each n-gram is unpacked once, so that memory
        is bounded by the table of n-grams."""
        assert self._grams is not None  # the table that ``pieces`` refers to
        distinct, each = np.unique(pieces.rows.numpy(), return_inverse=True)
        unpacked = torch.from_numpy(self._grams.table[distinct])
        return F.embedding_bag(torch.from_numpy(each), unpacked, pieces.starts, mode="mean")


class TrainableEmbeddings(nn.Module):
    """A trainable copy of a table, with an additional row for unknown words that starts at zero.

    It has no n-grams: fixed n-gram vectors would no longer match the trained table, so all unknown
    words share one row."""

    def __init__(self, vectors: WordVectors) -> None:
        super().__init__()
        blank = np.zeros((1, vectors.width), dtype=np.float32)
        table = np.asarray(vectors.table)  # unpacks a packed table
        self.table = nn.Parameter(torch.from_numpy(np.concatenate([table, blank]))[None])
        self.width = vectors.width

    def forward(self, rows: Tensor, pieces: NgramRows | None = None) -> Tensor:
        tasks, count, width = self.table.shape
        offset = torch.arange(tasks, device=rows.device)[:, None] * count
        return F.embedding(rows + offset, self.table.reshape(-1, width))
