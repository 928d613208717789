"""Which word stands how often where beside which: the counts under ``counted_vectors``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Words that are held as numbers before their pairs are counted.
_AT_ONCE = 10_000_000
_UNKNOWN, _END = -1, -2  # a rare word; the end of a sentence


@dataclass(frozen=True, eq=False)
class CooccurrenceCounts:
    """``after[d - 1][v, w]``: how often word w stands d places after word v, in one sentence."""

    words: tuple[str, ...]  # the most frequent first
    frequency: np.ndarray
    after: tuple[csr_matrix, ...]


def count_cooccurrences(
    sentences: Callable[[], Iterable[str]], window: int, least: int
) -> CooccurrenceCounts:
    """``sentences`` is called twice: once for the words seen ``least`` times, once for their pairs."""
    seen: Counter[str] = Counter()
    for sentence in sentences():
        seen.update(sentence.split(" "))
    # of equally frequent words the first in the alphabet: the same text gives the same numbers
    kept = sorted((w for w, n in seen.items() if n >= least), key=lambda w: (-seen[w], w))
    number = {word: i for i, word in enumerate(kept)}
    after: list[csr_matrix] | None = None
    for some in _numbered(sentences(), number):
        found = [_pairs(some, d, len(kept)) for d in range(1, window + 1)]
        after = found if after is None else [a + b for a, b in zip(after, found, strict=True)]
    return CooccurrenceCounts(tuple(kept), np.array([seen[w] for w in kept]), tuple(after or ()))


def _numbered(sentences: Iterable[str], number: dict[str, int]) -> Iterator[np.ndarray]:
    """Whole sentences, as many as go at once; each ends in ``_END``."""
    held: list[int] = []
    for sentence in sentences:
        held += [number.get(word, _UNKNOWN) for word in sentence.split(" ")]
        held.append(_END)
        if len(held) >= _AT_ONCE:
            yield np.array(held, dtype=np.int32)
            held = []
    if held:
        yield np.array(held, dtype=np.int32)


def _pairs(numbers: np.ndarray, distance: int, size: int) -> csr_matrix:
    from scipy.sparse import coo_matrix

    first, second = numbers[:-distance], numbers[distance:]
    good = (first >= 0) & (second >= 0)
    for between in range(1, distance):
        good &= numbers[between : between - distance] != _END
    rows, columns = first[good], second[good]
    ones = np.ones(len(rows), dtype=np.float32)
    return coo_matrix((ones, (rows, columns)), shape=(size, size)).tocsr()


def contexts(counts: CooccurrenceCounts, most: int, placed: int = 2) -> Sequence[csr_matrix]:
    """Blocks of contexts, one row a word, of the ``most`` frequent words: those that stand 1 and 2
    places before and after, each place a block of its own, and those anywhere in the window, the
    nearer the more."""
    window = len(counts.after)
    blocks = []
    bag = None
    for distance, after in enumerate(counts.after, 1):
        before = after.T.tocsr()
        if distance <= placed:
            blocks += [after[:, :most], before[:, :most]]
        share = np.float32((window + 1 - distance) / window)
        near = (after[:, :most] + before[:, :most]) * share
        bag = near if bag is None else bag + near
    return [*blocks, bag]
