"""Tests of the words that chemical names are made of."""

from __future__ import annotations

import random
import string
from itertools import product

import pytest

from adaptner.terms.rules.chemical_names import (
    ELEMENTS,
    is_formula,
    is_fragment,
    is_systematic,
    part_of_name,
    structured_names,
)


@pytest.mark.parametrize("word", ["H2O2", "Fe2O3", "CaCl2", "CuBi2O4", "CH4"])
def test_formulas_of_element_symbols_are_recognised(word):
    assert is_formula(word)


@pytest.mark.parametrize(
    "word", ["CD4", "H3K4", "NaCl", "Xq13", "IL2", "PIK3", "water", "O2", "P53"]
)
def test_words_with_other_letters_or_without_numbers_are_no_formulas(word):
    assert not is_formula(word)


def test_every_formula_is_a_sequence_of_element_symbols_and_numbers():
    """Compared with all ways to cut a random word."""

    def is_sequence(word):
        if not word:
            return True
        return any(
            word[:k] in ELEMENTS and is_sequence(word[k:].lstrip(string.digits)) for k in (1, 2)
        )

    draw = random.Random(3)
    words = ["".join(draw.choices("HOCNaFe23lC", k=draw.randint(3, 7))) for _ in range(3000)]
    assert sum(map(is_formula, words)) > 100
    assert all(is_sequence(word) for word in words if is_formula(word))


@pytest.mark.parametrize(
    "word", ["dimethyl", "pyrrolidinium", "nitroguaiacol", "Chlorobenzene", "hexanoate"]
)
def test_words_of_systematic_names_are_recognised(word):
    assert is_systematic(word)


@pytest.mark.parametrize(
    "word", ["methylation", "hydroxylase", "baseline", "examine", "patients", "DIMETHYL"]
)
def test_processes_enzymes_and_ordinary_words_are_not_systematic(word):
    assert not is_systematic(word)


@pytest.mark.parametrize(
    ("word", "expected"), [("methoxy", True), ("carboxylic", True), ("benzene", False)]
)
def test_fragments_are_beginnings_of_names(word, expected):
    assert is_fragment(word) == expected


def test_each_part_of_a_name_has_its_letter():
    name = "( R ) - 2 , 3 - dimethyl acid Fe2O3 MK - 801 AMN082 cells"
    assert "".join(part_of_name(word) for word in name.split()) == "oLxhLcLhWEFAhNK."


def test_every_structured_name_has_balanced_brackets_and_a_core():
    words = {"W": "ethanol", "o": "(", "x": ")", "h": "-", "L": "2", "c": ","}
    for parts in product("WoxhLc", repeat=6):
        run = "".join(parts)
        for begin, end in structured_names(run, [words[p] for p in run]):
            name = run[begin:end]
            depth = 0
            for part in name:
                depth += (part == "o") - (part == "x")
                assert depth >= 0
            assert depth == 0
            assert "W" in name
            assert name[0] not in "hcx"
            assert name[-1] not in "hcoL"
            assert not is_fragment(words[name[-1]])


def test_name_of_a_very_long_run_is_cut():
    run = "o" * 5000 + "WhW" + "x" * 5000
    names = list(structured_names(run, ["("] * 5000 + ["dimethyl", "-", "amine"] + [")"] * 5000))
    assert all(end - begin < 100 for begin, end in names)
