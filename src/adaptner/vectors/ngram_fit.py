"""Fits n-gram vectors to word vectors by ridge regression, so that unknown words have vectors, too.

The conjugate gradient method runs on all columns at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors

RIDGE = 0.1  # penalty on squared n-gram vectors; a word has about ten, each with weight 1/10
ROUNDS = 30


def fit_ngram_vectors(
    words: Sequence[str],
    table: np.ndarray,
    *,
    least: int,
    most: int,
    buckets: int,
    lower: bool = True,
) -> NgramVectors:
    """Returns G that minimises Σ_w |v_w - mean of G over the n-grams of w|² + RIDGE |G|²."""
    from scipy.sparse import csr_matrix

    width = table.shape[1]
    empty = FourBitTable.of(np.zeros((buckets, width), dtype=np.float32))
    finder = NgramVectors(empty, least, most, lower)
    found = [finder.rows(word) for word in words]
    lengths = np.array([len(rows) for rows in found])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    weights = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    columns = np.concatenate(found) if len(found) else np.zeros(0, dtype=np.int32)
    means = csr_matrix((weights, columns, starts), shape=(len(words), buckets))
    transposed = means.T.tocsr()
    rows = np.zeros((buckets, width), dtype=np.float32)
    residual = transposed @ table.astype(np.float32)
    direction, norm = residual.copy(), (residual * residual).sum(0)
    for _ in range(ROUNDS):
        product = transposed @ (means @ direction) + RIDGE * direction
        step = norm / np.maximum((direction * product).sum(0), 1e-30)
        rows += step * direction
        residual -= step * product
        new_norm = (residual * residual).sum(0)
        direction = residual + new_norm / np.maximum(norm, 1e-30) * direction
        norm = new_norm
    return NgramVectors(FourBitTable.of(rows), least, most, lower)
