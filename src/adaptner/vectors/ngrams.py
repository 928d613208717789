"""A vector for every word: the mean of the vectors of its character n-grams, found by hashing.

The rule is fastText's (Bojanowski et al. 2017, 3.2), down to the bug in its hash, so that rows
trained by fastText or floret are found where they were learnt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adaptner.vectors.four_bit import FourBitTable

# Of longer words the first and last halves are read: the work on a word is bounded, whatever
# sequence or address it is.
LONGEST_READ = 100
_SEED, _PRIME, _BITS = 2166136261, 16777619, 0xFFFFFFFF  # FNV-1a, 32 bits
# fastText hashes signed chars: a byte over 127 sets the upper 24 bits as well.
_SIGNED = tuple(byte if byte < 128 else byte | 0xFFFFFF00 for byte in range(256))


@dataclass(frozen=True, eq=False)
class NgramVectors:
    """Hashed n-grams of ``least`` to ``most`` characters, each a row of ``table``."""

    table: FourBitTable
    least: int
    most: int
    lower: bool = True  # learnt from lower-cased text

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most or not len(self.table):
            raise ValueError(f"{len(self.table)} rows for n-grams of {self.least} to {self.most}")

    def rows(self, word: str) -> np.ndarray:
        """One row for each n-gram of "<word>", in the order they stand; a short word may have none."""
        if self.lower:
            word = word.lower()
        if len(word) > LONGEST_READ:
            word = word[: LONGEST_READ // 2] + word[-LONGEST_READ // 2 :]
        letters = [[_SIGNED[b] for b in c.encode("utf-8", "surrogatepass")] for c in f"<{word}>"]
        buckets, end = len(self.table), len(letters)
        found = []
        for start in range(end + 1 - self.least):
            hashed = _SEED
            for stop in range(start, min(start + self.most, end)):
                for byte in letters[stop]:
                    hashed = (hashed ^ byte) * _PRIME & _BITS
                length = stop + 1 - start
                # a lone "<" or ">" says nothing, and fastText leaves it out
                if length >= self.least and not (length == 1 and (start == 0 or stop == end - 1)):
                    found.append(hashed % buckets)
        return np.array(found, dtype=np.int32)  # a batcher remembers many of them
