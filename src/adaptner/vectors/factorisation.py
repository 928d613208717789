"""From counts to vectors: positive pointwise mutual information, and its best approximation of a low
rank (Levy, Goldberg and Dagan 2015; Halko, Martinsson and Tropp 2011, Algorithm 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adaptner.progress import ProgressCallback, no_progress

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SMOOTHING = 0.75  # of the contexts' frequencies: rare ones are not all there is (Levy et al., 3.2)
SEEN = 1.5  # pairs counted less say more of chance than of the words
ROUNDS = 4  # of the iteration, after which the leading singular values do not move any more
_SPARE = 20  # columns more than wanted, for accuracy


def shifted_mutual_information(counts: csr_matrix) -> csr_matrix:
    """max(0, log P(v, c) / (P(v) P(c)^0.75)) of the pairs that are seen often enough."""
    from scipy.sparse import csr_matrix

    pairs = counts.tocoo()
    of_word = np.asarray(counts.sum(axis=1)).ravel()
    of_context = np.asarray(counts.sum(axis=0)).ravel().astype(np.float64) ** SMOOTHING
    enough = pairs.data >= SEEN
    rows, columns, data = pairs.row[enough], pairs.col[enough], pairs.data[enough]
    surprise = np.log(data / of_word[rows] / (of_context[columns] / of_context.sum()))
    kept = surprise > 0
    values = surprise[kept].astype(np.float32)
    return csr_matrix((values, (rows[kept], columns[kept])), shape=counts.shape)


def leading_eigenvectors(
    blocks: Sequence[csr_matrix],
    width: int,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> tuple[np.ndarray, np.ndarray]:
    """The ``width`` leading left singular vectors of the blocks side by side, and their values.
    Fewer where the blocks have no more."""
    from scipy.sparse import hstack

    matrix = hstack(blocks, format="csr", dtype=np.float32)
    turned = matrix.T.tocsr()
    columns = min(width + _SPARE, *matrix.shape)
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((matrix.shape[1], columns), dtype=np.float32)
    for done in range(ROUNDS):
        left, _ = np.linalg.qr(matrix @ basis)
        basis, _ = np.linalg.qr(turned @ left)
        progress(done + 1, ROUNDS, "")
    vectors, values, _ = np.linalg.svd(matrix @ basis, full_matrices=False)
    return vectors[:, :width], values[:width]
