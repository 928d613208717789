"""Tests of concepts and their identifiers."""

from __future__ import annotations

import pytest

from adaptner.terms.concepts import clean_name, make_concept, with_prefix


def test_synonyms_are_given_once_and_never_the_name():
    synonyms = [("grey fever", "E"), ("blue fever", "R"), (" grey  fever", "R"), ("red fever", "N")]
    concept = make_concept("X:1", "red fever", synonyms, ["X:2", "X:2"])
    assert concept.synonyms == ("grey fever", "blue fever")
    assert concept.scopes == "ER"
    assert concept.parents == ("X:2",)
    assert concept.names == ("red fever", "grey fever", "blue fever")


def test_synonym_that_any_source_calls_exact_is_exact():
    assert make_concept("X:1", "a", [("b", "R"), ("b", "E"), ("c", "N")]).scopes == "EN"


def test_scopes_are_empty_if_all_synonyms_are_exact():
    assert make_concept("X:1", "a", [("b", "E"), ("c", "E")]).scopes == ""
    assert make_concept("X:1", "a").scopes == ""


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("a\tb", "a b"),
        ("a\x00\x1b\n b", "a b"),
        ("\u00a0a\u2028b ", "a b"),
        ("β-catenin", "β-catenin"),
        ("", ""),
    ],
)
def test_control_characters_and_white_space_become_single_spaces(name, clean):
    assert clean_name(name) == clean


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("D000001", "MESH:D000001"),
        ("CHEBI:24431", "CHEBI:24431"),
        ("FPLX:A_b", "FPLX:A_b"),
        ("9606", "MESH:9606"),
        ("1:2", "MESH:1:2"),
    ],
)
def test_prefix_is_given_to_identifiers_without_one(identifier, expected):
    assert with_prefix(identifier, "MESH") == expected
