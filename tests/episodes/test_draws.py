"""Tests that draws are exactly `random.Random(seed).sample(range(n), size)`."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptner.episodes import draw_sentences, draw_share
from adaptner.errors import TooFewSentences
from adaptner.types import Sentence

TRAIN = [Sentence.from_tokens([str(i)]) for i in range(60)]


@pytest.mark.parametrize("size", [5, 10, 20, 50])
def test_draw_equals_random_sample(size):
    for seed in range(20):
        expected = random.Random(seed).sample(range(len(TRAIN)), size)
        assert [int(s.text) for s in draw_sentences(TRAIN, size, seed)] == expected


def test_known_draws():
    """Draws in published tables must be the same on every machine."""
    assert [int(s.text) for s in draw_sentences(TRAIN, 5, 0)] == [54, 24, 48, 56, 26]
    assert [int(s.text) for s in draw_sentences(TRAIN, 5, 19)] == [43, 2, 50, 57, 33]


@given(st.integers(0, 60), st.integers(0, 2**40))
def test_draws_are_distinct_and_repeatable(size, seed):
    found = draw_sentences(TRAIN, size, seed)
    assert len(found) == len({s.text for s in found}) == size
    assert draw_sentences(TRAIN, size, seed) == found


def test_different_seeds_give_different_draws():
    assert len({tuple(draw_sentences(TRAIN, 10, seed)) for seed in range(20)}) == 20


def test_drawing_more_than_all_sentences_raises():
    with pytest.raises(TooFewSentences) as caught:
        draw_sentences(TRAIN, 61, 0)
    assert (caught.value.facts["found"], caught.value.facts["needed"]) == (60, 61)
    assert len(draw_sentences(TRAIN, 60, 0)) == 60


@pytest.mark.parametrize(
    ("percent", "size"), [(100, 60), (50, 30), (5, 3), (1, 1), (0.1, 1), (33, 20)]
)
def test_share_is_rounded_to_at_least_one(percent, size):
    found = draw_share(TRAIN, percent, 3)
    assert len(found) == size
    assert found == draw_sentences(TRAIN, size, 3)


def test_share_of_100_percent_shuffles_all_sentences():
    assert sorted(int(s.text) for s in draw_share(TRAIN, 100, 1)) == list(range(60))
