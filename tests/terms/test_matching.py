"""Tests of names found in text, and of what a text says of its words."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from terms_kit import compiled, compiled_kinds, concept

from adaptner.terms.dictionary import Dictionary
from adaptner.terms.hashing import (
    FACTOR,
    MODULUS,
    mixed_symbol_keys,
    mixed_word_keys,
    word_keys,
)
from adaptner.terms.matching import NameFinder, can_match

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


SOME_WORDS = [
    "brain",
    "Fever",
    "fevers",
    "IL",
    "-",
    "2",
    "TNF",
    "of",
    "(",
    ")",
    "p53",
    ";",
    "the",
    "Abl",
]


@pytest.mark.parametrize("seed", range(6))
def test_names_found_equal_a_look_up_of_every_span(seed):
    rng = Random(seed)
    names = {" ".join(rng.choices(SOME_WORDS, k=rng.randint(1, 4))) for _ in range(60)}
    terms = compiled_kinds(K=sorted(names))
    sentences = [rng.choices(SOME_WORDS, k=rng.randint(1, 30)) for _ in range(40)]
    finder = NameFinder(terms)
    text = finder.text(sentences)
    found = finder.find(text)
    spans = set(zip(found.start.tolist(), found.end.tolist(), found.entry.tolist(), strict=True))
    expected = set()
    for start, sentence in zip(text.starts.tolist(), sentences, strict=True):
        for a in range(len(sentence)):
            for b in range(a + 1, len(sentence) + 1):
                if can_match(sentence[a:b]):
                    for entry in entries_of_words(terms, sentence[a:b]):
                        expected.add((start + a, start + b, entry))
    assert spans == expected
    assert spans


def entries_of_words(terms, words):
    """The entries of words, without the tokeniser, which takes "p53" and "( )" as it likes. The plural
    ending of the last word is taken off unless a bracket follows."""
    parts = [key for key in map(word_keys, words) if key.folded_length]
    folded = [(part.folded, part.folded_length) for part in parts]
    if words[-1] != ")":
        folded[-1] = (parts[-1].singular, parts[-1].singular_length)
    exact = [(part.exact, part.exact_length) for part in parts]
    keys = (mixed_word_keys, slow_key(folded)), (mixed_symbol_keys, slow_key(exact))
    entries = [int(terms.find(mixed(np.array([key], dtype=np.uint64)))[0]) for mixed, key in keys]
    return [entry for entry in entries if entry >= 0]


def slow_key(parts):
    key = 0
    for part, length in parts:
        key = (key * pow(FACTOR, length, MODULUS) + part) % MODULUS
    return key
