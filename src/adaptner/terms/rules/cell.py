"""Rules for the kind Cell."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import FUNCTION, LOWER
from adaptner.terms.rules.general import doubts_of_kind

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.PATTERN

_ONE = frozenset(["cell"])
_HEADS = frozenset(["cell", "cells"])
_SIGNS = frozenset(["+", "-", "−", "positive", "negative", "high", "low"])
# Things whose cells are spoken of: "HeLa cells", "neuroblastoma cells", "bone marrow cells"
_OWNERS = ("CellLine", "Anatomy", "Tissue", "Cancer", "Cell")
_ADJECTIVE = re.compile(r"[a-z]{3,}(?:ic|al|oid|ous|ary|iar)")
_MARKER = re.compile(r"CD\d+[a-zA-Z]?")
_MOST_MODIFIERS = 4


def propose(m: Matches) -> Spans:
    doubts = doubts_of_kind(m, "Cell")
    listed = m.spans(np.flatnonzero(m.has("Cell")), doubts)
    begins = _modifier_starts(m)
    heads = np.flatnonzero(m.text.is_one_of(_HEADS))
    start = np.concatenate([heads, listed.start])
    end = np.concatenate([heads + 1, listed.end])
    sure = (
        np.concatenate(
            [np.zeros(len(heads)), listed.doubts & ~np.uint32(Doubt.GENERAL | Doubt.RELATED)]
        )
        == 0
    )
    longer = sure & (begins[start] < start)
    found = listed + Spans.of(begins[start[longer]], end[longer], doubts=Doubt.PATTERN)
    # "T cell activation": one cell before another noun says what sort of thing that is.
    after = m.text.classes[found.end]
    modifies = (
        m.text.is_one_of(_ONE)[found.end - 1] & ((after & LOWER) > 0) & ((after & FUNCTION) == 0)
    )
    raise_doubt(found.doubts, Doubt.PART, modifies)
    return found


def _modifier_starts(m: Matches) -> np.ndarray:
    """For each position where the modifiers before it begin: "CD4 + T", "human leukemic" """
    starts = np.arange(len(m.text.words) + 1)
    rows = np.flatnonzero(m.has(*_OWNERS) & ~m.is_word(_HEADS, -1))
    np.minimum.at(starts, m.end[rows], m.start[rows])
    adjectives = np.flatnonzero(m.text.passes(_is_adjective))
    np.minimum.at(starts, adjectives + 1, adjectives)
    markers = np.flatnonzero(m.text.passes(_is_marker))
    signs = m.text.is_one_of(_SIGNS)
    signed = markers[signs[markers + 1]]
    np.minimum.at(starts, signed + 2, signed)
    for _ in range(_MOST_MODIFIERS - 1):
        starts = starts[starts]
    return starts


@lru_cache(maxsize=100_000)
def _is_adjective(word: str) -> bool:
    return _ADJECTIVE.fullmatch(word.lower()) is not None


def _is_marker(word: str) -> bool:
    return word[:2] == "CD" and _MARKER.fullmatch(word) is not None
