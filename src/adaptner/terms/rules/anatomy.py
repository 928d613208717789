"""Rules for kinds of anatomy: adjectives of sites count, names within names of other kinds do not."""

from __future__ import annotations

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules.disease import _SITES as SITES
from adaptner.terms.rules.general import doubts_of_kind

# Doubts that a mention may have by default. Adjectives are mentions in some corpora: on trial, a fifth of them.
ACCEPTED = Doubt(0)

# "lung" in "lung cancer", "bone marrow" in "bone marrow transplantation"
_LONGER = ("Disease", "Gene", "Cell", "CellLine", "Chemical", "Procedure", "BiologicalProcess")


def propose(m: Matches, kind: str) -> Spans:
    doubts = doubts_of_kind(m, kind)
    raise_doubt(doubts, Doubt.WITHIN_OTHER, m.within(*_LONGER))
    raise_doubt(
        doubts, Doubt.SEVERAL_KINDS, m.has("Cell") | m.has("CellLine", "Gene") & m.marked(4)
    )
    doubts[~m.single] &= ~np.uint32(Doubt.RELATED)  # "proximal colon"
    listed = m.spans(np.flatnonzero(m.has(kind)), doubts)
    if kind not in ("Anatomy", "Organ"):
        return listed
    return listed + _adjectives(m)


def _adjectives(m: Matches) -> Spans:
    """ "pulmonary", where it is not part of a longer name such as "pulmonary fibrosis" """
    at = np.flatnonzero(m.text.is_one_of(SITES))
    doubts = np.full(len(at), Doubt.ADJECTIVE, dtype=np.uint32)
    covered = np.zeros(len(m.text.words) + 1, dtype=np.int32)
    longer = np.flatnonzero((m.end - m.start > 1) & m.has(*_LONGER))
    np.add.at(covered, m.start[longer], 1)
    np.add.at(covered, m.end[longer], -1)
    raise_doubt(doubts, Doubt.WITHIN_OTHER, np.cumsum(covered)[at] > 0)
    return Spans.of(at, at + 1, doubts=doubts)
