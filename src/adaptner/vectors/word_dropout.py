"""Word vectors that have forgotten some of their words, so that what learns over them also learns what
to make of words it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from adaptner.vectors.word_vectors import WordVectors

_PARTS = 1000


@dataclass(frozen=True)
class WordDropoutVectors(WordVectors):
    """A ``share`` of the words, others for every ``salt``, are made up of their n-grams."""

    share: float = 0.0
    salt: str = ""

    def row(self, word: str) -> int:
        found = super().row(word)
        forgotten = crc32(f"{self.salt} {word.lower()}".encode()) % _PARTS < self.share * _PARTS
        return len(self.words) if forgotten else found

    @classmethod
    def of(cls, vectors: WordVectors, share: float, salt: str) -> WordDropoutVectors:
        return cls(vectors.words, vectors.table, vectors.grams, share=share, salt=salt)
