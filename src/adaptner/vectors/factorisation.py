"""Positive pointwise mutual information of counts, and a randomised SVD.

Levy, Goldberg and Dagan 2015; Halko, Martinsson and Tropp 2011, Algorithm 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adaptner.progress import ProgressCallback, no_progress

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Exponent of context frequencies, against a bias to rare contexts (Levy et al., 3.2)
SMOOTHING = 0.75
MIN_COUNT = 1.5  # Rarer pairs are mostly chance.
ROUNDS = 4  # iterations, after which the leading singular values are stable
_OVERSAMPLING = 20  # additional columns, for accuracy


def shifted_mutual_information(counts: csr_matrix) -> csr_matrix:
    """Returns max(0, log P(v, c) / (P(v) P(c)^0.75)) for pairs with at least MIN_COUNT."""
    from scipy.sparse import csr_matrix

    pairs = counts.tocoo()
    word_counts = np.asarray(counts.sum(axis=1)).ravel()
    context_counts = np.asarray(counts.sum(axis=0)).ravel().astype(np.float64) ** SMOOTHING
    frequent = pairs.data >= MIN_COUNT
    rows, columns, data = pairs.row[frequent], pairs.col[frequent], pairs.data[frequent]
    context_shares = context_counts / context_counts.sum()
    information = np.log(data / word_counts[rows] / context_shares[columns])
    positive = information > 0
    values = information[positive].astype(np.float32)
    return csr_matrix((values, (rows[positive], columns[positive])), shape=counts.shape)


def leading_singular_vectors(
    blocks: Sequence[csr_matrix],
    width: int,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns up to ``width`` leading left singular vectors of the concatenated blocks, and values."""
    from scipy.sparse import hstack

    matrix = hstack(blocks, format="csr", dtype=np.float32)
    transposed = matrix.T.tocsr()
    columns = min(width + _OVERSAMPLING, *matrix.shape)
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((matrix.shape[1], columns), dtype=np.float32)
    for done in range(ROUNDS):
        left, _ = np.linalg.qr(matrix @ basis)
        basis, _ = np.linalg.qr(transposed @ left)
        progress(done + 1, ROUNDS, "")
    vectors, values, _ = np.linalg.svd(matrix @ basis, full_matrices=False)
    return vectors[:, :width], values[:width]
