"""Tests of the words of labels and of the normal form of names."""

from __future__ import annotations

import pytest

from adaptner.text.label_names import label_words, normalise_name, singular


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("Disease", ["disease"]),
        ("CellLine", ["cell", "line"]),
        ("cell_line", ["cell", "line"]),
        ("cell-line", ["cell", "line"]),
        ("DNAVariant", ["dna", "variant"]),
        ("ORG", ["org"]),
        ("Gene_or_gene_product", ["gene", "or", "gene", "product"]),
        ("Krankheit größer", ["krankheit", "größer"]),
        ("T1", ["t", "1"]),
        ("病気", ["病気"]),
        ("__", []),
        ("", []),
    ],
)
def test_label_words(label, words):
    assert label_words(label) == words


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("diseases", "disease"),
        ("genes", "gene"),
        ("species", "species"),
        ("bodies", "body"),
        ("masses", "mass"),
        ("viruses", "viruse"),  # wrong, but both sides of a look-up agree
        ("virus", "virus"),
        ("analysis", "analysis"),
        ("gas", "gas"),
    ],
)
def test_singular(many, one):
    assert singular(many) == one


def test_normalise_name_lower_cases_and_makes_the_last_word_singular():
    assert normalise_name(["Cell", "Lines"]) == "cell line"
    assert normalise_name(["diseases"]) == normalise_name(["Disease"]) == "disease"
