"""Tests of label sets: tags, tag IDs, and schemes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.text.schemes import Scheme, from_bio
from adaptner.types import LabelSet, Sentence, TagScheme

SCHEMES: tuple[TagScheme, ...] = ("bio", "bioes")


@st.composite
def bio_tags(draw: st.DrawFn) -> list[str]:
    """Valid BIO tags, with adjacent mentions and with labels that look like tags."""
    mentions = st.tuples(st.sampled_from(["", "X", "Y", "I-Z", "S"]), st.integers(1, 3))
    tags: list[str] = []
    for label, length in draw(st.lists(mentions, max_size=6)):
        tags += [f"B-{label}", *[f"I-{label}"] * (length - 1)] if label else ["O"] * length
    return tags


def test_tags_of_bio_and_bioes():
    assert LabelSet(("Y", "X", "Y")).tags == ("O", "B-X", "I-X", "B-Y", "I-Y")
    bioes = LabelSet(("Y", "X", "Y"), "bioes")
    assert bioes.labels == ("X", "Y")
    assert bioes.tags == ("O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y")
    assert [bioes.index[tag] for tag in bioes.tags] == list(range(9))
    assert LabelSet((), scheme="bioes").tags == ("O",)


@settings(max_examples=200, deadline=None)
@given(bio_tags(), st.sampled_from(SCHEMES))
def test_tag_ids_are_those_of_the_tags_in_the_scheme(tags, scheme):
    sentence = Sentence.from_tokens(["x"] * len(tags), tags)
    labels = LabelSet(("A", "I-Z", "S", "X", "Y"), scheme)
    expected = from_bio(tags, Scheme(scheme.upper()))
    assert [labels.tags[n] for n in labels.tag_ids(sentence)] == expected


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("tags", ["B-Z", "O B-Z I-Z"])
def test_tag_ids_of_an_unknown_label_raise(tags, scheme):
    sentence = Sentence.from_tokens(["x"] * len(tags.split()), tags.split())
    with pytest.raises(KeyError):
        LabelSet(("X",), scheme).tag_ids(sentence)


def test_label_set_of_sentences_is_bio():
    found = LabelSet.of([Sentence.from_tokens(["a", "b"], ["B-Y", "B-X"])])
    assert found == LabelSet(("X", "Y"), "bio")


def test_with_labels_keeps_the_scheme_which_equality_compares():
    bio, bioes = (LabelSet(("X",), scheme) for scheme in SCHEMES)
    assert bio != bioes
    assert len({bio, bioes, LabelSet(("X",), "bioes")}) == 2
    assert bioes.with_labels(iter(["Z", "Y", "Z"])) == LabelSet(("Y", "Z"), "bioes")
    assert bio.with_labels([]) == LabelSet(())


def test_includes_ignores_the_scheme():
    one, two = LabelSet(("X",)), LabelSet(("X", "Y"), "bioes")
    assert two.includes(one)
    assert not one.includes(two)
    assert one.includes(LabelSet(("X",), "bioes"))
    assert one.includes(LabelSet(()))
    assert not LabelSet(()).includes(one)
