"""Tests of what abbreviations stand for in raw text."""

from __future__ import annotations

import numpy as np
import pytest
from terms_kit import compiled, concept

from adaptner.terms.abbreviations import count_definitions
from adaptner.terms.dictionary import Dictionary


def test_definitions_of_symbols_of_one_token_are_counted():
    sentences = [
        "he has diabetes mellitus ( DM )",
        "she has diabetes mellitus ( DM )",
        "a long word ( word )",
        "acute myeloid leukemia of type 2 ( AML 2 )",
    ]
    assert count_definitions(s.split() for s in sentences) == {("DM", "diabetes mellitus"): 2}


@pytest.fixture(scope="module")
def terms():
    return compiled(
        {
            "mesh": [concept("MESH:1", "Hyperplasia", "benign growth", note="C04.1")],
            "hgnc": [concept("HGNC:1", "actin")],
        },
        definitions={
            ("BH", "big hyperplasia"): 3,
            ("BH", "body height"): 2,
            ("BH", "beta helical actin"): 1,
            ("BP", "blood pressure"): 7,
            ("RH", "rare hyperplasia"): 1,
            ("GPCR", "great actin"): 4,
        },
    )


@pytest.mark.parametrize(
    ("word", "definitions", "diseases", "genes"),
    [
        ("BH", 6, 3, 1),
        ("BP", 7, 0, 0),
        ("RH", 0, 0, 0),  # defined once only
        ("GPCRs", 4, 0, 4),
        ("bh", 0, 0, 0),  # not with this case
        ("other", 0, 0, 0),
    ],
)
def test_definitions_of_a_word_are_counted_by_the_kind_that_the_long_form_ends_with(
    terms, word, definitions, diseases, genes
):
    m = Dictionary(terms).matches([["the", word], ["of", "it"]])
    place = m.text.words.index(word)
    for kind, expected in ((None, definitions), ("Disease", diseases), ("Gene", genes)):
        counts = m.definitions(kind)
        assert counts[place] == expected
        assert not np.delete(counts, place).any()


def test_terms_without_definitions_define_nothing():
    terms = compiled({"mesh": [concept("MESH:1", "Hyperplasia", note="C04.1")]})
    m = Dictionary(terms).matches([["the", "BH"]])
    assert not m.definitions().any()
    assert not m.definitions("Disease").any()
