"""What a sentence calls by which name."""

from __future__ import annotations

import pytest

from adaptner.training.instances import count_named, named_in


@pytest.mark.parametrize(
    ("sentence", "pairs"),
    [
        (
            "chronic diseases such as asthma , gout and breast cancer are common .",
            {("disease", w) for w in ("asthma", "gout", "breast", "cancer")}
            | {("chronic disease", w) for w in ("asthma", "gout", "breast", "cancer")},
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
        ("such as this", set()),
        ("a cell such as 12 , x1", set()),  # too short, or no letter in it
        ("no name here at all", set()),
    ],
)
def test_pairs_of_a_sentence(sentence: str, pairs: set[tuple[str, str]]) -> None:
    assert set(named_in(sentence.split())) == pairs


def test_counts_are_of_lower_cased_words() -> None:
    text = ["Diseases such as Asthma .", "DISEASES such as asthma and Gout ."]
    named, frequency = count_named(text)
    assert named["disease"] == {"asthma": 2, "gout": 1}
    assert frequency["diseases"] == 2
    assert frequency["asthma"] == 2
