"""What may be wrong with a match. Rules name doubts; defaults, examples or the user decide what they count."""

from __future__ import annotations

from enum import IntFlag, auto

import numpy as np


class Doubt(IntFlag):
    ORDINARY = auto()  # a word of general language
    CASE = auto()  # not written as the terminology writes it
    SEVERAL_KINDS = auto()  # also a name of another kind
    WITHIN_OTHER = auto()  # within a longer name of another kind
    RELATED = auto()  # not an exact synonym
    SHORT = auto()  # a symbol of one to three characters
    OTHER_MEANING = auto()  # an abbreviation that mostly means something else in raw text
    GENERAL = auto()  # names a class of things: "cancer", "antibiotic", "protein"
    HIGHER = auto()  # above the usual rank: a genus alone, a family of genes or chemicals
    PERSON = auto()  # a word for people
    PATTERN = auto()  # matches a pattern of the kind, but is in no list
    WITH_HEAD = auto()  # extended by a word such as "gene" or "receptor"
    WITH_MODIFIER = auto()  # extended by a word such as "severe" or "human"
    JOINED = auto()  # several names joined by "and", "/" or "-"
    PART = auto()  # a part of a longer mention: a charge, a prefix, a suffix is missing
    DEFINED_OTHERWISE = auto()  # the text itself defines the abbreviation as another kind
    DEFINED = auto()  # the text itself defines the abbreviation as this kind: speaks for it
    ACTION = auto()  # what something does: "inhibitor", "analgesic"
    STRAIN = auto()  # a strain, breed or serotype
    IN_COMPOUND = auto()  # joined to a neighbour by a hyphen
    ADJECTIVE = auto()  # an adjective of a name: "diabetic"


def raise_doubt(doubts: np.ndarray, doubt: Doubt, where: np.ndarray) -> None:
    """Add ``doubt`` to the values of ``doubts`` at ``where``, in place."""
    doubts[where] |= np.uint32(doubt)
