"""Counts of word co-occurrences by distance, from which ``counting`` makes vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_TOKENS_PER_BLOCK = 10_000_000  # in memory at a time
_UNKNOWN, _END = -1, -2  # IDs of a rare word and of the end of a sentence


@dataclass(frozen=True, eq=False)
class CooccurrenceCounts:
    """``after[d - 1][v, w]`` counts word w exactly d words after word v in the same sentence."""

    words: tuple[str, ...]  # the most frequent first
    frequency: np.ndarray
    after: tuple[csr_matrix, ...]


def count_cooccurrences(
    sentences: Callable[[], Iterable[str]], window: int, least: int
) -> CooccurrenceCounts:
    """Counts pairs of words that occur at least ``least`` times, at distances up to ``window``.

    ``sentences`` is called twice: first to count words, then to count pairs.
    """
    frequency: Counter[str] = Counter()
    for sentence in sentences():
        frequency.update(sentence.split(" "))
    # Ties are sorted alphabetically, so that the same text gives the same IDs.
    words = sorted(
        (w for w, n in frequency.items() if n >= least), key=lambda w: (-frequency[w], w)
    )
    word_ids = {word: i for i, word in enumerate(words)}
    after: list[csr_matrix] | None = None
    for block in _id_blocks(sentences(), word_ids):
        counts = [_pairs(block, d, len(words)) for d in range(1, window + 1)]
        after = counts if after is None else [a + b for a, b in zip(after, counts, strict=True)]
    frequencies = np.array([frequency[w] for w in words])
    return CooccurrenceCounts(tuple(words), frequencies, tuple(after or ()))


def _id_blocks(sentences: Iterable[str], word_ids: dict[str, int]) -> Iterator[np.ndarray]:
    """Yields the word IDs of whole sentences, each with ``_END`` at its end."""
    block: list[int] = []
    for sentence in sentences:
        block += [word_ids.get(word, _UNKNOWN) for word in sentence.split(" ")]
        block.append(_END)
        if len(block) >= _TOKENS_PER_BLOCK:
            yield np.array(block, dtype=np.int32)
            block = []
    if block:
        yield np.array(block, dtype=np.int32)


def _pairs(ids: np.ndarray, distance: int, size: int) -> csr_matrix:
    from scipy.sparse import coo_matrix

    first, second = ids[:-distance], ids[distance:]
    valid = (first >= 0) & (second >= 0)
    for between in range(1, distance):
        valid &= ids[between : between - distance] != _END
    rows, columns = first[valid], second[valid]
    ones = np.ones(len(rows), dtype=np.float32)
    return coo_matrix((ones, (rows, columns)), shape=(size, size)).tocsr()


def context_blocks(
    counts: CooccurrenceCounts, most: int, positions: int = 2
) -> Sequence[csr_matrix]:
    """Returns blocks of context counts, with a row per word and a column per frequent word.

    Each of the ``positions`` before and after has its own block. A last block counts all words in
    the window, weighted by proximity. Only the ``most`` frequent words are contexts.
    """
    window = len(counts.after)
    blocks = []
    bag = None
    for distance, after in enumerate(counts.after, 1):
        before = after.T.tocsr()
        if distance <= positions:
            blocks += [after[:, :most], before[:, :most]]
        weight = np.float32((window + 1 - distance) / window)
        near = (after[:, :most] + before[:, :most]) * weight
        bag = near if bag is None else bag + near
    return [*blocks, bag]
