"""Labels as words, and names in one form."""

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
def test_the_words_of_a_label(label: str, words: list[str]) -> None:
    assert label_words(label) == words


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("diseases", "disease"),
        ("genes", "gene"),
        ("species", "species"),
        ("bodies", "body"),
        ("masses", "mass"),
        ("viruses", "viruse"),  # wrong, but the same on both sides of a look-up
        ("virus", "virus"),
        ("analysis", "analysis"),
        ("gas", "gas"),
    ],
)
def test_singular(many: str, one: str) -> None:
    assert singular(many) == one


def test_a_name_is_its_words_with_the_last_in_the_singular() -> None:
    assert normalise_name(["Cell", "Lines"]) == "cell line"
    assert normalise_name(["diseases"]) == normalise_name(["Disease"]) == "disease"
