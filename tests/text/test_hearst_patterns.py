"""What a sentence calls by which name."""

from __future__ import annotations

import pytest

from adaptner.text.hearst_patterns import InstanceCounts, find_compounds, find_instances


@pytest.mark.parametrize(
    ("sentence", "pairs"),
    [
        (
            "chronic diseases such as asthma , gout and breast cancer are common .",
            {
                (name, said)
                for name in ("disease", "chronic disease")
                for said in ("asthma", "gout", "breast cancer")
            },
        ),
        (
            "the drugs , including aspirin , were given",
            {("drug", "aspirin")},
        ),
        (
            "we kept rats , mice and other rodents in cages",
            {("rodent", "mice")},  # "we kept rats": nothing parts the verb from the rats
        ),
        (
            "in 2010 , rats , mice and other small rodents",
            {(n, w) for n in ("rodent", "small rodent") for w in ("rats", "mice")},
        ),
        (
            "some cytokines ( e . g . , il - 6 and tnf ) rose ( fig . 2 )",
            {("cytokine", "il - 6"), ("cytokine", "tnf")},  # "some" ends the name
        ),
        ("such as this", set()),
        ("a cell such as 12 , x", set()),  # no letter in it, or too short
        ("no name here at all", set()),
    ],
)
def test_pairs_of_a_sentence(sentence: str, pairs: set[tuple[str, str]]) -> None:
    assert set(find_instances(sentence.split())) == pairs


@pytest.mark.parametrize(
    ("sentence", "pairs"),
    [
        ("the BRCA1 gene and p53 proteins", {("gene", "brca1"), ("protein", "p53")}),
        ("HeLa cells , the BRCA1 - like gene", {("cell", "hela")}),  # the dash is no name
        ("The gene BRCA1 and Many genes", set()),  # a capital in front says little
        ("in 2010 cells", set()),
    ],
)
def test_what_stands_before_a_name(sentence: str, pairs: set[tuple[str, str]]) -> None:
    assert set(find_compounds(sentence.split())) == pairs


def test_counts_are_of_lower_cased_words() -> None:
    text = ["Diseases such as Asthma .", "DISEASES such as asthma and Gout .", "a BRCA1 gene"]
    found = InstanceCounts.of(text)
    assert found.named["disease"] == {"asthma": 2, "gout": 1}
    assert found.compounds["gene"] == {"brca1": 1}
    assert found.frequency["diseases"] == 2
    assert found.frequency["asthma"] == 2
