"""Tests of tag schemes: detection, conversion, and repair."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.errors import MixedSchemes, UnknownTag
from adaptner.text.schemes import Scheme, TagRepair, detect_scheme, from_bio, repair_tags, to_bio


@st.composite
def bio_tags(draw: st.DrawFn) -> list[str]:
    """Valid BIO tags of two types, with adjacent mentions."""
    tags: list[str] = []
    for label, length in draw(
        st.lists(st.tuples(st.sampled_from(["", "X", "Y-z"]), st.integers(1, 3)), max_size=6)
    ):
        if label:
            tags += [f"B-{label}"] + [f"I-{label}"] * (length - 1)
        else:
            tags += ["O"] * length
    return tags


ANY_TAGS = st.lists(st.sampled_from(["O", *(f"{p}-{x}" for p in "BIES" for x in "XY")]), max_size=9)


@pytest.mark.parametrize(
    ("bio", "iob1", "bioes"),
    [
        ("O B-X I-X O", "O I-X I-X O", "O B-X E-X O"),
        ("B-X", "I-X", "S-X"),
        ("B-X B-X I-X", "I-X B-X I-X", "S-X B-X E-X"),
        ("B-X B-Y I-Y", "I-X I-Y I-Y", "S-X B-Y E-Y"),
        ("B-X I-X I-X O B-X", "I-X I-X I-X O I-X", "B-X I-X E-X O S-X"),
    ],
)
def test_tags_convert_from_and_to_bio(bio, iob1, bioes):
    for scheme, tags in ((Scheme.BIO, bio), (Scheme.IOB1, iob1), (Scheme.BIOES, bioes)):
        assert to_bio(tags.split(), scheme) == bio.split()
        assert from_bio(bio.split(), scheme) == tags.split()
        assert repair_tags(tags.split(), scheme) == (tags.split(), [])


@settings(max_examples=150, deadline=None)
@given(bio_tags(), st.sampled_from(Scheme))
def test_conversion_from_bio_and_back_is_lossless(tags, scheme):
    assert to_bio(from_bio(tags, scheme), scheme) == tags


@settings(max_examples=150, deadline=None)
@given(st.lists(bio_tags(), max_size=4), st.sampled_from(Scheme))
def test_detected_scheme_yields_the_same_mentions(sequences, scheme):
    """Several schemes may fit the tags, but the mentions are the same."""
    written = [from_bio(tags, scheme) for tags in sequences]
    found = detect_scheme(written)
    assert [to_bio(tags, found) for tags in written] == sequences


@settings(max_examples=200, deadline=None)
@given(ANY_TAGS)
def test_repaired_tags_are_valid_and_all_changes_are_returned(tags):
    fixed, repairs = repair_tags(tags, Scheme.BIOES)
    assert repair_tags(fixed, Scheme.BIOES) == (fixed, [])
    changed = [i for i, (a, b) in enumerate(zip(tags, fixed, strict=True)) if a != b]
    assert [r.position for r in repairs] == changed
    assert all((r.found, r.corrected) == (tags[r.position], fixed[r.position]) for r in repairs)


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        ([], Scheme.BIO),
        (["O O"], Scheme.BIO),
        (["O B-X I-X"], Scheme.BIO),
        (["O I-X B-X O"], Scheme.IOB1),
        (["O I-X I-X"], Scheme.IOB1),
        (["O I-X", "B-X"], Scheme.BIO),  # BIO with an error: IOB1 has no B after O
        (["I-X B-Y"], Scheme.BIO),  # and none after another type
        (["S-X O", "B-X E-X"], Scheme.BIOES),
        (["O I-X E-X"], Scheme.BIOES),
        (["I O B"], Scheme.BIO),
    ],
)
def test_detect_scheme(sequences, expected):
    assert detect_scheme(s.split() for s in sequences) is expected


def test_mixed_schemes_raise_with_the_tags_and_places():
    with pytest.raises(MixedSchemes, match=r"S-X at sentence 1 .*I-Y at sentence 3"):
        detect_scheme([["S-X"], ["O"], ["O", "B-Y", "I-Y"]])
    with pytest.raises(MixedSchemes, match="E-X among BIO tags"):
        to_bio(["B-X", "E-X"], Scheme.BIO)


def test_bio_is_repaired_as_conlleval_reads_it():
    fixed, repairs = repair_tags(["O", "I-X", "I-X", "B-Y", "I-X", "O", "I-Y"], Scheme.BIO)
    assert fixed == ["O", "B-X", "I-X", "B-Y", "B-X", "O", "B-Y"]
    assert repairs == [
        TagRepair(1, "I-X", "B-X", "I opens a mention"),
        TagRepair(4, "I-X", "B-X", "I after another type opens a mention"),
        TagRepair(6, "I-Y", "B-Y", "I opens a mention"),
    ]


@pytest.mark.parametrize(
    ("tags", "fixed"),
    [
        ("B-X O", "S-X O"),
        ("B-X I-X O", "B-X E-X O"),
        ("E-X", "S-X"),
        ("I-X E-X", "B-X E-X"),
        ("S-X E-X", "S-X S-X"),
        ("B-X S-X", "S-X S-X"),
        ("B-X E-Y", "S-X S-Y"),
    ],
)
def test_bioes_is_repaired(tags, fixed):
    assert repair_tags(tags.split(), Scheme.BIOES)[0] == fixed.split()


def test_tags_without_a_label_get_the_default_label():
    assert repair_tags(["O", "B", "I"], Scheme.BIO) == (["O", "B-ENTITY", "I-ENTITY"], [])
    assert to_bio(["S", "B", "E"], Scheme.BIOES, default_label="Gene") == [
        "B-Gene",
        "B-Gene",
        "I-Gene",
    ]


@pytest.mark.parametrize("tag", ["", "X", "b-X", "B_X", "B-", "U-X", "BX", "o", "-", "B X"])
def test_unknown_tags_raise(tag):
    with pytest.raises(UnknownTag):
        to_bio([tag], Scheme.BIO)
    with pytest.raises(UnknownTag):
        detect_scheme([["B-X"], ["O", tag]])
