"""Tests that draws are exactly `random.Random(seed).sample(range(n), size)`."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptner.episodes import check_draws, draw_sentences, draw_share
from adaptner.errors import TooFewSentences, UnknownName, UsageError
from adaptner.types import Sentence

TRAIN = [Sentence.from_tokens([str(i)]) for i in range(60)]
# every third sentence has an entity
MIXED = [Sentence.from_tokens([str(i)], ["B-X" if i % 3 == 0 else "O"]) for i in range(60)]


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


@pytest.mark.parametrize("size", [1, 5, 20])
def test_draw_with_entities_samples_the_indices_of_sentences_with_a_mention(size):
    indices = [i for i, sentence in enumerate(MIXED) if sentence.entities]
    assert len(indices) == 20
    for seed in range(20):
        expected = random.Random(seed).sample(indices, size)
        found = draw_sentences(MIXED, size, seed, "with-entities")
        assert [int(s.text) for s in found] == expected


def test_drawing_more_than_all_sentences_with_an_entity_says_which_sentences_count():
    with pytest.raises(TooFewSentences, match="counting only sentences with an entity") as caught:
        draw_sentences(MIXED, 21, 0, "with-entities")
    assert (caught.value.facts["found"], caught.value.facts["needed"]) == (20, 21)
    assert len(draw_sentences(MIXED, 21, 0)) == 21


def test_only_1_to_99_sentences_are_drawn_from_those_with_entities():
    assert check_draws("with-entities", [1, 99]) == "with-entities"
    assert check_draws("all", [0, 100], [5.0]) == "all"
    for sizes, shares, named in (([5, 100], [], "100"), ([0], [], "0"), ([], [12.5], "12.5%")):
        with pytest.raises(UsageError, match=f"{named} can only be drawn from all sentences"):
            check_draws("with-entities", sizes, shares)
    with pytest.raises(UnknownName, match="did you mean 'with-entities'"):
        check_draws("with-entity", [5])
