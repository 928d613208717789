"""Rules for the kind CellLine: short names and numbers are dangerous, "cells" and "line" after them speak for them."""

from __future__ import annotations

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules.general import doubts_of_kind

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED

_CELLS = frozenset(["cell", "cells"])
_LINES = frozenset(["line", "lines"])
# Kinds whose names are cell lines in Cellosaurus too, but seldom in text
_OTHER_KINDS = (
    *("Gene", "Chemical", "Disease", "Species", "Anatomy", "Method", "Procedure", "Device", "Food"),
    *("Person", "Environment", "Sequence", "CellularComponent", "BiologicalProcess"),
)
_SHORT_NAME = 3  # letters and digits


def propose(m: Matches) -> Spans:
    rows = m.has("CellLine") & ~m.is_word(_CELLS | _LINES, -1)
    doubts = doubts_of_kind(m, "CellLine")
    size = m.letters.sum(0)
    raise_doubt(doubts, Doubt.SHORT, (size <= _SHORT_NAME) | (m.letters[:2].sum(0) == 0))
    raise_doubt(doubts, Doubt.SEVERAL_KINDS, m.has(*_OTHER_KINDS))
    supported = m.is_word(_CELLS) | m.is_word(_LINES) | m.preceded_by(_LINES)
    doubts[supported] &= ~np.uint32(Doubt.SHORT | Doubt.SEVERAL_KINDS | Doubt.ORDINARY)
    listed = m.spans(np.flatnonzero(rows), doubts)
    return listed + _with_heads(m, listed)


def _with_heads(m: Matches, listed: Spans) -> Spans:
    """ "HeLa cells", "HeLa cell line" """
    last = len(m.text.words) - 1
    cells, lines = m.text.is_one_of(_CELLS), m.text.is_one_of(_LINES)
    one = cells[listed.end] | lines[listed.end]
    two = cells[listed.end] & lines[np.minimum(listed.end + 1, last)]
    head = np.uint32(Doubt.WITH_HEAD)
    return Spans.of(
        np.concatenate([listed.start[one], listed.start[two]]),
        np.concatenate([listed.end[one] + 1, listed.end[two] + 2]),
        doubts=np.concatenate([listed.doubts[one] | head, listed.doubts[two] | head]),
    )
