"""Vectors of unknown words: the mean of the vectors of their hashed character n-grams.

The hash is that of fastText (Bojanowski et al. 2017, 3.2) with its bug, so that tables trained by
fastText or floret can be used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adaptner.vectors.four_bit import FourBitTable

# Of longer words (sequences, addresses), only the first and last half of this are read.
MAX_CHARACTERS = 100
_SEED, _PRIME, _BITS = 2166136261, 16777619, 0xFFFFFFFF  # FNV-1a, 32 bits
# fastText hashes signed chars, so that a byte over 127 sets the upper 24 bits, too.
_SIGNED = tuple(byte if byte < 128 else byte | 0xFFFFFF00 for byte in range(256))


@dataclass(frozen=True, eq=False)
class NgramVectors:
    """Hashed n-grams of ``least`` to ``most`` characters, each a row of ``table``."""

    table: FourBitTable
    least: int
    most: int
    lower: bool = True  # trained on lower-cased text

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most or not len(self.table):
            raise ValueError(f"{len(self.table)} rows for n-grams of {self.least} to {self.most}")

    def rows(self, word: str) -> np.ndarray:
        """Returns the row of each n-gram of "<word>" in order; a short word may have none."""
        if self.lower:
            word = word.lower()
        if len(word) > MAX_CHARACTERS:
            word = word[: MAX_CHARACTERS // 2] + word[-MAX_CHARACTERS // 2 :]
        characters = [[_SIGNED[b] for b in c.encode("utf-8", "surrogatepass")] for c in f"<{word}>"]
        buckets, end = len(self.table), len(characters)
        found = []
        for start in range(end + 1 - self.least):
            hashed = _SEED
            for stop in range(start, min(start + self.most, end)):
                for byte in characters[stop]:
                    hashed = (hashed ^ byte) * _PRIME & _BITS
                length = stop + 1 - start
                # fastText leaves out "<" and ">" alone.
                if length >= self.least and not (length == 1 and (start == 0 or stop == end - 1)):
                    found.append(hashed % buckets)
        return np.array(found, dtype=np.int32)  # compact, because a batcher caches many
