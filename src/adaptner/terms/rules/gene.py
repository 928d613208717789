"""Rules for the kind Gene: genes and their products."""

from __future__ import annotations

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import CAPITALISED, LOWER

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED

_OTHER_KINDS = (
    "Disease", "Anatomy", "Cell", "CellLine", "CellularComponent", "Method", "Procedure", "Person",
    "Environment", "Food", "AminoAcid", "Sequence", "quality",
)  # fmt: skip
_HEADS = frozenset(
    "gene genes protein proteins mrna mrnas promoter promoters cdna polypeptide polypeptides "
    "antigen antigens".split()
)
_NAMING_HEADS = _HEADS
_NO_SYMBOL = frozenset("= < > , . ; % ° ± × + * & # ′ ' \" ≥ ≤ ~ @ : → ^ !".split())


def propose(m: Matches) -> Spans:
    lower, upper, digits = m.letters
    length = lower + upper + digits
    from_genes = m.has("human or rodent gene")
    of_other = m.has("gene of other organism")
    family = m.has("protein family")
    heading = m.has("enzyme or protein heading")
    other_kind = m.has(*_OTHER_KINDS)
    chemical = m.has("Chemical") & ~heading & ~family
    word = m.single & ((m.word(-1) & (LOWER | CAPITALISED)) > 0) & ~m.exact
    words = ~m.single & (lower >= 4)
    symbol = ~word & ~words
    inside = m.count("field_inside") / np.maximum(1, m.count("field_inside") + m.count("field_alone"))
    general = m.rate("general_alone")
    field = m.rate("field_alone")

    doubts = np.zeros(len(m), dtype=np.uint32)
    raise_doubt(doubts, Doubt.RELATED, m.marked(2))
    plural = is_plural(m)
    # words
    raise_doubt(doubts, Doubt.ORDINARY, word & ~heading)
    raise_doubt(doubts, Doubt.GENERAL, (word | words) & plural)
    raise_doubt(doubts, Doubt.GENERAL, (word | words) & (m.breadth >= 8))
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, (word | words) & other_kind)
    raise_doubt(doubts, Doubt.PART, (word | words) & (inside > 0.5))
    raise_doubt(doubts, Doubt.HIGHER, (word | words) & ~from_genes & ~of_other)
    raise_doubt(doubts, Doubt.ORDINARY, words & ~from_genes & ~family & ~heading)
    # symbols
    raise_doubt(doubts, Doubt.SHORT, symbol & (length <= 2))
    raise_doubt(doubts, Doubt.ORDINARY, symbol & (length <= 3) & (general > 0.4))
    raise_doubt(doubts, Doubt.ORDINARY, symbol & (digits == 0) & (general > 2))
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, symbol & (other_kind | chemical) & ((length <= 3) | (digits == 0)) & ~heading)
    raise_doubt(doubts, Doubt.HIGHER, symbol & ~from_genes & ~of_other)
    raise_doubt(doubts, Doubt.ORDINARY, symbol & ~from_genes & ~family & ~heading)
    raise_doubt(doubts, Doubt.PART, symbol & (inside > 0.5))
    raise_doubt(doubts, Doubt.CASE, symbol & ~m.exact & (lower < 2) & (length <= 4))
    # all
    barred = np.concatenate([[0], np.cumsum(m.text.is_one_of(_NO_SYMBOL))])
    raise_doubt(doubts, Doubt.JOINED, ~m.single & ~words & (barred[m.end] > barred[m.start]))
    raise_doubt(doubts, Doubt.WITH_HEAD, ~m.single & m.ends_with(_NAMING_HEADS) & ends_after_gene(m))
    rows = m.has("Gene") & (lower + upper > 0) & ~superseded(m)
    return m.spans(rows, doubts)


def is_plural(m: Matches) -> np.ndarray:
    last = [m.text.words[i - 1] for i in m.end.tolist()]
    return np.array([w[-1:] == "s" and w[-2:-1] not in ("s", "u", "i", "a") and w.islower() and len(w) > 3 for w in last], dtype=bool)


def superseded(m: Matches) -> np.ndarray:
    """Whether the same span is a gene with its case, too."""
    gene = m.has("Gene")
    exact = np.zeros(len(m), dtype=bool)
    if len(m) > 1:
        same = (m.start[1:] == m.start[:-1]) & (m.end[1:] == m.end[:-1])
        exact[1:] = same & m.exact[:-1] & gene[:-1]
    return exact & ~m.exact


def ends_after_gene(m: Matches) -> np.ndarray:
    """Whether a gene begins with the match and ends one token before it."""
    gene = m.has("Gene")
    shorter = m.start[gene].astype(np.int64) << 32 | m.end[gene]
    return np.isin(m.start.astype(np.int64) << 32 | (m.end - 1), shorter)
