"""Rules for every kind: ordinary words, case, related synonyms."""

from __future__ import annotations

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, LOWER, UPPER

# A word is ordinary if general text has it this often in a million words, and field text not this many
# times as often.
_ORDINARY_RATE, _FIELD_FACTOR = 5.0, 4.0


def word_list(words: str) -> frozenset[str]:
    """The words of a text in lower case, for a rule that asks for one of them."""
    return frozenset(words.split())


def general_doubts(m: Matches) -> np.ndarray:
    doubts = np.zeros(len(m), dtype=np.uint32)
    general = m.count("general_alone") * (1e6 / m.terms.facts.get("general_tokens", 1e6))
    field = m.count("field_alone") * (1e6 / m.terms.facts.get("field_tokens", 1e6))
    ordinary = (general > _ORDINARY_RATE) & (field < _FIELD_FACTOR * general)
    raise_doubt(doubts, Doubt.ORDINARY, ordinary & m.single)
    raise_doubt(doubts, Doubt.RELATED, m.marked(2))
    # A symbol found without its case: "was" for WAS
    symbol = m.marked(4) & ~m.exact
    raise_doubt(doubts, Doubt.CASE, symbol & m.single & ((m.word(-1) & (LOWER | CAPITALISED)) > 0))
    letters = np.array([len(m.text.words[i]) for i in m.start.tolist()], dtype=np.int64)
    raise_doubt(doubts, Doubt.SHORT, m.single & (letters <= 3) & m.exact)
    raise_doubt(
        doubts, Doubt.CASE, m.single & ~m.exact & ((m.word(-1) & UPPER) > 0) & (letters <= 5)
    )
    return doubts


def propose(m: Matches, kind: str) -> Spans:
    return m.spans(m.has(kind), general_doubts(m))
