"""Abbreviations that a text defines: where a definition counts, and what it makes of its short form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from terms_kit import compiled_kinds

from adaptner.terms.definitions import WINDOW
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.doubts import Doubt

TERMS = compiled_kinds(
    Ailment=["diabetes mellitus", "asthma", "AMSD"],
    Gadget=["direct manipulator", "heart valve", "HVX"],
)
DEFINES = "he had diabetes mellitus ( DM ) ."
USES = "this DM is old"
FILLER = "nothing is here"


def mentions(
    sentences: Sequence[str], documents: Sequence[int] | None = None, kind: str = "Ailment"
) -> list[list[str]]:
    """The mentions of each sentence."""
    dictionary = Dictionary(TERMS)
    matches = dictionary.matches([s.split() for s in sentences])
    spans = dictionary.mentions(matches, kind, documents=documents)
    found: list[list[str]] = [[] for _ in sentences]
    owners = np.searchsorted(matches.text.starts, spans.start, side="right") - 1
    for owner, start, end in zip(owners, spans.start, spans.end, strict=True):
        found[owner].append(" ".join(matches.text.words[start:end]))
    return found


def doubts_of(sentences: Sequence[str], short: str, kind: str) -> list[Doubt]:
    """Those of each occurrence of a word that is proposed for the kind, in one document."""
    dictionary = Dictionary(TERMS)
    matches = dictionary.matches([s.split() for s in sentences])
    spans = dictionary.propose(matches, [kind], [0] * len(sentences))[kind]
    rows = sorted(zip(spans.start.tolist(), spans.doubts.tolist(), strict=True))
    return [Doubt(doubts) for start, doubts in rows if matches.text.words[start] == short]


def test_definition_counts_in_its_sentence_and_the_next_ten_of_its_document():
    sentences = [DEFINES, *[USES] * (WINDOW + 1)]
    found = mentions(sentences, [0] * len(sentences))
    assert WINDOW == 10
    assert found == [["diabetes mellitus", "DM"], *[["DM"]] * 10, []]


def test_definition_counts_from_where_it_stands():
    assert mentions([USES, DEFINES, USES], [0] * 3) == [[], ["diabetes mellitus", "DM"], ["DM"]]


@pytest.mark.parametrize("documents", [[0, 1, 1], None])
def test_definition_does_not_count_in_other_documents(documents):
    found = mentions([DEFINES, USES, USES], documents)
    assert found == [["diabetes mellitus", "DM"], [], []]


def test_only_the_document_of_the_definition_has_it():
    sentences = [USES, DEFINES, USES, USES, DEFINES, USES]
    found = mentions(sentences, [0, 1, 1, 2, 3, 3])
    both = ["diabetes mellitus", "DM"]
    assert found == [[], both, ["DM"], [], both, ["DM"]]


def test_later_definition_counts_from_where_it_stands():
    again = "a direct manipulator ( DM ) ."
    sentences = [DEFINES, USES, again, USES]
    assert mentions(sentences, [0] * 4) == [["diabetes mellitus", "DM"], ["DM"], [], []]
    gadgets = mentions(sentences, [0] * 4, "Gadget")
    assert gadgets == [[], [], ["direct manipulator", "DM"], ["DM"]]


def test_listed_short_form_with_a_long_form_of_no_kind_is_defined_otherwise():
    sentences = ["AMSD came", "an anti matter sample device ( AMSD ) .", "AMSD went"]
    before, inside, after = doubts_of(sentences, "AMSD", "Ailment")
    assert not before & Doubt.DEFINED_OTHERWISE
    assert inside & Doubt.DEFINED_OTHERWISE
    assert after & Doubt.DEFINED_OTHERWISE
    assert mentions(sentences, [0] * 3) == [["AMSD"], [], []]


def test_listed_short_form_with_a_long_form_of_its_kind_is_free_of_doubts():
    doubts = doubts_of(["a heart valve xenograft", "the heart valve ( HV ) ."], "HV", "Gadget")
    assert doubts == [Doubt.DEFINED]


def test_long_form_must_mostly_be_a_mention():
    """ "asthma" is the last of six words."""
    sentence = "some quite new kinds of asthma ( SQNKA ) ."
    assert mentions([sentence]) == [["asthma"]]


def test_long_form_in_the_brackets_defines_the_short_form_before_them():
    assert mentions(["DM ( diabetes mellitus ) and DM"]) == [["DM", "diabetes mellitus", "DM"]]


def test_sentences_that_define_nothing_are_not_changed():
    dictionary = Dictionary(TERMS)
    matches = dictionary.matches([["asthma", "(", "bad", ")"], [], ["AMSD"]])
    proposed = dictionary.propose(matches, ["Ailment"])["Ailment"]
    assert [matches.text.words[a] for a in proposed.start] == ["asthma", "AMSD"]
    assert not (proposed.doubts & np.uint32(Doubt.DEFINED | Doubt.DEFINED_OTHERWISE)).any()
