"""Nearest words by the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptner.vectors.word_vectors import WordVectors

_ROWS_PER_BLOCK = 8192


def nearest_words(
    vectors: WordVectors, words: Sequence[str], count: int
) -> list[list[tuple[str, float]] | None]:
    """Returns the ``count`` nearest other words for each word; None for a word without a vector."""
    queries = [vectors.vector(word) for word in words]
    matrix = _normalise(np.stack([np.zeros(vectors.width) if v is None else v for v in queries]))
    cosines = np.empty((len(words), len(vectors.words)), dtype=np.float32)
    for start in range(0, len(vectors.words), _ROWS_PER_BLOCK):
        part = slice(start, start + _ROWS_PER_BLOCK)
        cosines[:, part] = matrix @ _normalise(np.asarray(vectors.table[part])).T
    found: list[list[tuple[str, float]] | None] = []
    for word, vector, similarity in zip(words, queries, cosines, strict=True):
        if vector is None:
            found.append(None)
            continue
        best = np.argsort(-similarity, kind="stable")[: count + 1]
        others = [int(row) for row in best if row != vectors.row(word)]
        found.append([(vectors.words[row], float(similarity[row])) for row in others[:count]])
    return found


def _normalise(rows: np.ndarray) -> np.ndarray:
    """Scales rows to length one, except for rows of zeros."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros(rows.shape), where=length > 0)
