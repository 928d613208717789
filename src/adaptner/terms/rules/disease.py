"""Rules for the kind Disease."""

from __future__ import annotations

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, LOWER
from adaptner.terms.rules.general import general_doubts

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.SHORT | Doubt.PATTERN

# Attributes that say which terminologies list a name as a disease or symptom.
_LISTS = ("mondo disease", "doid disease", "ncit disease", "efo disease", "orphanet disease", "listed symptom")
# Kinds of which a name of a disease is seldom a name too: "blood" and "skin" are synonyms of neoplasms somewhere.
_OTHER_KINDS = ("Anatomy", "Person", "Procedure", "Method", "Food", "Device", "quality")
_MANY_LISTS = 3
_CLASS_BREADTH = 12  # 2,000 diseases and more below: "disease", "disorder", "syndrome"


def propose(m: Matches) -> Spans:
    return m.spans(m.has("Disease"), _doubts(m))


def _doubts(m: Matches) -> np.ndarray:
    doubts = general_doubts(m) & ~np.uint32(Doubt.ORDINARY | Doubt.CASE)
    ordinary = (general_doubts(m) & np.uint32(Doubt.ORDINARY)) > 0
    lists = sum(m.has(name).astype(np.int8) for name in _LISTS)
    in_mesh = m.has("mesh disease")
    symptom = m.has("mesh symptom")
    sure = in_mesh | (lists >= _MANY_LISTS)
    symbol = m.marked(4)
    # Words
    raise_doubt(doubts, Doubt.GENERAL, (m.breadth >= _CLASS_BREADTH) & ~in_mesh & ~m.has("Cancer"))
    raise_doubt(doubts, Doubt.ORDINARY, ordinary & ~sure & ~symptom)
    other = np.where(symptom, m.has("Procedure", "Method"), m.has(*_OTHER_KINDS))
    process = m.has("pathologic finding", "BiologicalProcess") & ~symptom & (lists < 2)
    process &= m.has("BiologicalProcess")
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, ~symbol & ~sure & (other | process))
    # Symbols
    gene = m.has("human or rodent gene")
    letters = np.array([sum(map(len, m.text.words[a:b])) for a, b in zip(m.start.tolist(), m.end.tolist())], dtype=np.int64)
    raise_doubt(doubts, Doubt.CASE, symbol & ~m.exact)
    digits = np.array([any(c.isdigit() for w in m.text.words[a:b] for c in w) for a, b in zip(m.start.tolist(), m.end.tolist())], dtype=bool)
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, symbol & gene & digits)
    raise_doubt(doubts, Doubt.OTHER_MEANING, symbol & (letters <= 2) & ((lists < 2) | gene & (lists < 3)))
    return doubts
