"""Batches of sentences: without replacement, and of similar length."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adaptner.adaptation.sentence_batches import POOL, SentenceBatches
from adaptner.types import Sentence


def sentence(number: int, length: int) -> Sentence:
    return Sentence.from_tokens([str(number), *["x"] * (length - 1)])


def make_sentences(count: int, seed: int, longest: int = 40) -> list[Sentence]:
    rng = random.Random(seed)
    return [sentence(i, rng.randint(1, longest)) for i in range(count)]


@given(st.integers(1, 130), st.integers(1, 12), st.integers(0, 5))
@example(1, 1, 0)
@example(7, 12, 0)  # fewer sentences than a batch
@example(POOL * 4, 4, 0)  # just enough to group by length
@example(POOL * 4 - 1, 4, 0)
@example(POOL * 4 + 3, 4, 0)
def test_every_sentence_comes_once_in_each_epoch(count, size, seed):
    sentences = make_sentences(count, seed)
    batches = SentenceBatches(sentences, size, random.Random(seed))
    drawn: list[Sentence] = []
    while len(drawn) < 3 * count:
        batch = batches.next()
        assert len(batch) == min(size, count)
        drawn += batch
    for epoch in range(3):
        assert Counter(drawn[epoch * count : (epoch + 1) * count]) == Counter(sentences)


@pytest.mark.parametrize("count", [30, 100])  # without and with grouping by length
def test_seed_determines_batches_and_epochs_differ(count):
    sentences = make_sentences(count, 0)

    def draw(seed: int) -> list[list[Sentence]]:
        batches = SentenceBatches(sentences, 5, random.Random(seed))
        return [batches.next() for _ in range(2 * count // 5)]

    first = draw(1)
    assert draw(1) == first
    assert draw(2) != first
    assert first[: count // 5] != first[count // 5 :]
    assert sentences == make_sentences(count, 0)


def test_repeated_sentence_comes_as_often_as_it_is_given():
    one, two = make_sentences(2, 0)
    batches = SentenceBatches([one, two, one], 3, random.Random(0))
    assert Counter(batches.next()) == {one: 2, two: 1}


def padding_factor(count: int, size: int, epochs: int = 3) -> float:
    """Tokens with padding over tokens without."""
    batches = SentenceBatches(make_sentences(count, 0), size, random.Random(1))
    tokens = padded = 0
    for _ in range(epochs * count // size):
        lengths = list(map(len, batches.next()))
        tokens += sum(lengths)
        padded += size * max(lengths)
    return padded / tokens


@pytest.mark.parametrize(
    ("count", "size"), [(POOL * 10, 10), (400, 10), (405, 10), (2000, 20), (2003, 10)]
)
def test_many_sentences_are_grouped_by_length(count, size):
    assert padding_factor(count, size) < 1.1
    assert padding_factor(POOL * size - size, size) > 1.5  # too few: in random order


def test_grouped_batches_come_in_random_order_with_new_members_in_each_epoch():
    batches = SentenceBatches(make_sentences(400, 0), 10, random.Random(1))
    epochs = [[batches.next() for _ in range(40)] for _ in range(2)]
    means = [sum(map(len, batch)) / 10 for batch in epochs[0]]
    rises = sum(a < b for a, b in pairwise(means))
    assert 10 < rises < 30
    members = [{frozenset(s.tokens[0] for s in batch) for batch in epoch} for epoch in epochs]
    assert not members[0] & members[1]
