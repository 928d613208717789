"""Rows for n-grams whose mean comes near to the vectors of known words, so that unseen words have one
too: ridge regression, by conjugate gradients on all columns at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors

RIDGE = 0.1  # of the squared rows of n-grams: a word has about ten, each of weight a tenth
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
    """G that makes Σ_w |v_w - mean of G over the n-grams of w|² + RIDGE |G|² small."""
    from scipy.sparse import csr_matrix

    width = table.shape[1]
    blank = FourBitTable.of(np.zeros((buckets, width), dtype=np.float32))
    finder = NgramVectors(blank, least, most, lower)
    found = [finder.rows(word) for word in words]
    lengths = np.array([len(rows) for rows in found])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shares = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    columns = np.concatenate(found) if len(found) else np.zeros(0, dtype=np.int32)
    means = csr_matrix((shares, columns, starts), shape=(len(words), buckets))
    turned = means.T.tocsr()
    rows = np.zeros((buckets, width), dtype=np.float32)
    rest = turned @ table.astype(np.float32)
    way, size = rest.copy(), (rest * rest).sum(0)
    for _ in range(ROUNDS):
        pushed = turned @ (means @ way) + RIDGE * way
        step = size / np.maximum((way * pushed).sum(0), 1e-30)
        rows += step * way
        rest -= step * pushed
        now = (rest * rest).sum(0)
        way = rest + now / np.maximum(size, 1e-30) * way
        size = now
    return NgramVectors(FourBitTable.of(rows), least, most, lower)
