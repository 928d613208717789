"""Rules for every kind: ordinary words, case, related synonyms."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, LOWER, UPPER

# A word is ordinary if general text has it this often in a million words, and field text not this many
# times as often.
ORDINARY_RATE, FIELD_FACTOR = 5.0, 4.0
_NARROW = 6  # a name with fewer than 64 others below is never general


def word_list(words: str) -> frozenset[str]:
    """The words of a text in lower case, for a rule that asks for one of them."""
    return frozenset(words.split())


def general_doubts(m: Matches) -> np.ndarray:
    doubts = np.zeros(len(m), dtype=np.uint32)
    general = m.count("general_alone") * (1e6 / m.terms.facts.get("general_tokens", 1e6))
    field = m.count("field_alone") * (1e6 / m.terms.facts.get("field_tokens", 1e6))
    ordinary = (general > ORDINARY_RATE) & (field < FIELD_FACTOR * general)
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


# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED

# Kinds of which everyday words are names: "heart", "salt", "nurse".
_EVERYDAY = frozenset(
    [
        "Anatomy",
        "Tissue",
        "Organ",
        "MultiTissueStructure",
        "BodyRegion",
        "BodySystem",
        "BodySpace",
        "BodySubstance",
        "Food",
        "Person",
        "ProfessionalGroup",
        "PopulationGroup",
        "Organization",
        "BiomedicalDiscipline",
        "Environment",
        "Plant",
        "Injury",
    ]
)
# Of living things and their parts the classes ("cell", "plant", "tissue") are no mentions; those of diseases,
# procedures and chemicals are.
_CLASSES_SAY_NOTHING = frozenset(
    ["Anatomy", "Organ", "BodyRegion", "Cell", "CellLine", "Food", "Bacterium", "Virus", "Plant"]
)
# Of a kind whose widest name has 1,000 others below it, names with more than 500 say nothing.
_GENERAL_STEPS = 1


def propose(m: Matches, kind: str) -> Spans:
    rows = np.flatnonzero(m.has(kind))
    return m.spans(rows, doubts_of_kind(m, kind))


def doubts_of_kind(m: Matches, kind: str) -> np.ndarray:
    """The doubts of all matches as names of a kind without rules of its own."""
    doubts = general_doubts(m)
    if kind in _EVERYDAY:
        ordinary = m.single & ((m.word(-1) & UPPER) == 0) & m.marked(1)
        doubts[ordinary] &= ~np.uint32(Doubt.ORDINARY | Doubt.CASE)
    if kind in _CLASSES_SAY_NOTHING:
        raise_doubt(doubts, Doubt.GENERAL, m.breadth > _widest(m.terms, kind) - _GENERAL_STEPS)
    return doubts


@lru_cache(maxsize=1000)
def _widest(terms: CompiledTerms, kind: str) -> int:
    """The largest breadth of a name of the kind."""
    arrays = terms.arrays
    of_kind = ((arrays["kind_sets"] & terms.mask_of([kind])) != 0).any(1)[arrays["kind_set"]]
    return int(terms.breadth(np.flatnonzero(of_kind)).max(initial=_NARROW))
