"""Rules for kinds that are called after genes: their RNA and DNA, and complexes of proteins."""

from __future__ import annotations

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules.general import doubts_of_kind

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.PATTERN

# What follows the name of a gene: "IL-2 mRNA", "c-fos promoter", "SCF complex"
_HEADS = {
    "RNA": frozenset(["mrna", "mrnas", "rna", "rnas", "transcript", "transcripts"]),
    "DNA": frozenset(["gene", "genes", "promoter", "promoters", "enhancer", "enhancers"]),
    "Complex": frozenset(["complex", "complexes"]),
}


def propose(m: Matches, kind: str) -> Spans:
    doubts = doubts_of_kind(m, kind)
    heads = _HEADS[kind]
    if kind != "RNA":  # "mRNA" alone is a mention, "gene" and "complex" are none
        raise_doubt(doubts, Doubt.GENERAL, m.single & m.is_word(heads, -1))
    listed = m.spans(np.flatnonzero(m.has(kind)), doubts)
    of_gene = m.has("Gene") & m.is_word(heads) & ~m.is_word(heads, -1)
    return listed + Spans.of(m.start[of_gene], m.end[of_gene] + 1, doubts=Doubt.PATTERN)
