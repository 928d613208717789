"""Tests of what a text says of its words."""

from __future__ import annotations

from random import Random

import numpy as np
from terms_kit import compiled, concept

from adaptner.terms.dictionary import Dictionary

SENTENCES = [
    Random(seed).choices(["The", "the", "Cell", "cells", "IL-2", ",", "x"], k=seed)
    for seed in range(12)
]


def _starts_with_c(word: str) -> bool:
    return word[:1] in ("c", "C")


def test_words_of_a_list_and_words_that_pass_a_test_are_those_found_one_by_one():
    terms = compiled({"mesh": [concept("MESH:1", "Ischemia", note="C14.1")]})
    text = Dictionary(terms).matches(SENTENCES).text
    words = frozenset(["the", "cell", "absent"])
    assert np.array_equal(text.is_one_of(words), [w.lower() in words for w in text.words])
    assert np.array_equal(text.passes(_starts_with_c), [_starts_with_c(w) for w in text.words])
    assert np.array_equal(text.is_one_of(words), [w.lower() in words for w in text.words])
