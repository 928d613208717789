"""Keys of names: what shares one, and that they compose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptner.terms.hashing import (
    FACTOR,
    MODULUS,
    POWERS,
    fold,
    is_symbol,
    mixed_symbol_keys,
    mixed_word_keys,
    name_key,
    word_keys,
)

WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=12)


def slow_hash(text: str) -> int:
    return sum((ord(c) + 1) * FACTOR ** (len(text) - 1 - i) for i, c in enumerate(text)) % MODULUS


@given(WORDS)
def test_the_key_of_a_word_is_a_polynomial_of_its_folded_letters(word):
    keys = word_keys(word)
    assert keys.folded_length == len(fold(word))
    assert keys.folded == slow_hash(fold(word))


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_the_key_of_joined_words_follows_from_theirs(words):
    key = 0
    for word in map(word_keys, words):
        key = (key * POWERS[word.folded_length] + word.folded) % MODULUS
    assert key == slow_hash("".join(map(fold, words)))


@given(st.lists(st.from_regex(r"[a-z]{1,8}[0-9]", fullmatch=True), min_size=1, max_size=5))
def test_borders_and_case_do_not_change_the_key_of_words(words):
    keys = {name_key(form).word for form in (" ".join(words), "-".join(words), "".join(words))}
    keys.add(name_key(" ".join(words).upper()).word)
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("IL-2", "il 2"),
        ("brain fever", "Brain Fevers"),
        ("β-catenin", "beta catenin"),
        ("Sjögren syndrome", "Sjogren syndrome"),
    ],
)
def test_forms_of_one_name_share_its_key_without_case(one, other):
    assert name_key(one).word == name_key(other).word


@pytest.mark.parametrize(("one", "other"), [("WAS", "was"), ("Abl", "ABL")])
def test_the_key_of_a_symbol_keeps_its_case(one, other):
    assert name_key(one).symbol != name_key(other).symbol


@pytest.mark.parametrize("name", ["", "…", "( )", "a" * 201])
def test_no_letters_or_too_many_have_no_key(name):
    assert name_key(name) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("TNF", True), ("p53", True), ("insulin", False), ("Iris", False), ("HYPERTENSION", True)],
)
def test_symbols_are_told_from_words(name, expected):
    assert is_symbol(name) is expected


def test_mixing_is_one_to_one_and_tells_symbols_from_words():
    keys = np.arange(100_000, dtype=np.uint64)
    mixed = np.concatenate([mixed_word_keys(keys), mixed_symbol_keys(keys)])
    assert len(np.unique(mixed)) == 200_000
