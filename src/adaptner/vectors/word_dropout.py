"""Word vectors without some of their words, so that an encoder learns to handle unknown words."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from adaptner.vectors.word_vectors import WordVectors

_RESOLUTION = 1000


@dataclass(frozen=True)
class WordDropoutVectors(WordVectors):
    """Replaces a ``share`` of the words, which depends on ``salt``, by their n-grams."""

    share: float = 0.0
    salt: str = ""

    def row(self, word: str) -> int:
        hashed = crc32(f"{self.salt} {word.lower()}".encode()) % _RESOLUTION
        return len(self.words) if hashed < self.share * _RESOLUTION else super().row(word)

    @classmethod
    def of(cls, vectors: WordVectors, share: float, salt: str) -> WordDropoutVectors:
        return cls(vectors.words, vectors.table, vectors.grams, share=share, salt=salt)
