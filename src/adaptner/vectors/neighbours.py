"""The words nearest to others, by the cosine of their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptner.vectors.word_vectors import WordVectors

_AT_ONCE = 8192  # rows of the table


def nearest_words(
    vectors: WordVectors, words: Sequence[str], count: int
) -> list[list[tuple[str, float]] | None]:
    """For each word, nearest first and without itself; None for a word that has no vector."""
    own = [vectors.vector(word) for word in words]
    wanted = _unit(np.stack([np.zeros(vectors.width) if v is None else v for v in own]))
    cosines = np.empty((len(words), len(vectors.words)), dtype=np.float32)
    for start in range(0, len(vectors.words), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        cosines[:, part] = wanted @ _unit(np.asarray(vectors.table[part])).T
    found: list[list[tuple[str, float]] | None] = []
    for word, vector, near in zip(words, own, cosines, strict=True):
        if vector is None:
            found.append(None)
            continue
        best = np.argsort(-near, kind="stable")[: count + 1]
        others = [int(row) for row in best if row != vectors.row(word)]
        found.append([(vectors.words[row], float(near[row])) for row in others[:count]])
    return found


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length one; a row of zeros stays as it is."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros(rows.shape), where=length > 0)
