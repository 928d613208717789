"""Tests of the patterns that find instances of names."""

from __future__ import annotations

import pytest

from adaptner.text.hearst_patterns import InstanceCounts, find_compounds, find_instances


@pytest.mark.parametrize(
    ("sentence", "pairs"),
    [
        (
            "chronic diseases such as asthma , gout and breast cancer are common .",
            {
                (name, instance)
                for name in ("disease", "chronic disease")
                for instance in ("asthma", "gout", "breast cancer")
            },
        ),
        ("the drugs , including aspirin , were given", {("drug", "aspirin")}),
        (
            "we kept rats , mice and other rodents in cages",
            {("rodent", "mice")},  # no comma separates "rats" from the verb
        ),
        (
            "in 2010 , rats , mice and other small rodents",
            {(n, w) for n in ("rodent", "small rodent") for w in ("rats", "mice")},
        ),
        (
            "some cytokines ( e . g . , il - 6 and tnf ) rose ( fig . 2 )",
            {("cytokine", "il - 6"), ("cytokine", "tnf")},  # "some" is not part of the name
        ),
        ("such as this", set()),
        ("a cell such as 12 , x", set()),  # without a letter, or too short
        ("no name here at all", set()),
    ],
)
def test_find_instances(sentence, pairs):
    assert set(find_instances(sentence.split())) == pairs


@pytest.mark.parametrize(
    ("sentence", "pairs"),
    [
        ("the BRCA1 gene and p53 proteins", {("gene", "brca1"), ("protein", "p53")}),
        ("HeLa cells , the BRCA1 - like gene", {("cell", "hela")}),  # the hyphen is not a name
        ("The gene BRCA1 and Many genes", set()),  # a capital first letter does not suffice
        ("in 2010 cells", set()),
    ],
)
def test_find_compounds(sentence, pairs):
    assert set(find_compounds(sentence.split())) == pairs


def test_counts_ignore_case():
    text = ["Diseases such as Asthma .", "DISEASES such as asthma and Gout .", "a BRCA1 gene"]
    found = InstanceCounts.of(text)
    assert found.named["disease"] == {"asthma": 2, "gout": 1}
    assert found.compounds["gene"] == {"brca1": 1}
    assert found.frequency["diseases"] == 2
    assert found.frequency["asthma"] == 2
