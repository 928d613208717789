"""Batches of an adaptation: whom they hold and when; and the loop that spends the budget."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from adaptner.adaptation.descent import POOL, SentenceBatches, take_steps
from adaptner.errors import TrainingDiverged
from adaptner.progress import no_progress
from adaptner.training.budget import Budget
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.types import Sentence


def sentence(number: int, length: int) -> Sentence:
    return Sentence.from_tokens([str(number), *["x"] * (length - 1)])


def sentences(count: int, seed: int, longest: int = 40) -> list[Sentence]:
    rng = random.Random(seed)
    return [sentence(i, rng.randint(1, longest)) for i in range(count)]


# --- batches --------------------------------------------------------------------------------------


@given(st.integers(1, 130), st.integers(1, 12), st.integers(0, 5))
@example(1, 1, 0)
@example(7, 12, 0)  # fewer sentences than a batch
@example(POOL * 4, 4, 0)  # just enough for pools by length
@example(POOL * 4 - 1, 4, 0)
@example(POOL * 4 + 3, 4, 0)
def test_every_sentence_once_before_any_comes_again(count: int, size: int, seed: int) -> None:
    given_ = sentences(count, seed)
    batches = SentenceBatches(given_, size, random.Random(seed))
    expected = min(size, count)
    drawn: list[Sentence] = []
    while len(drawn) < 3 * count:
        batch = batches.next()
        assert len(batch) == expected
        drawn += batch
    for turn in range(3):
        assert Counter(drawn[turn * count : (turn + 1) * count]) == Counter(given_)


def test_turns_differ_and_the_seed_decides() -> None:
    for count, size in ((30, 5), (100, 5)):  # without and with pools
        given_ = sentences(count, 0)

        def turns(seed: int, given_=given_, size=size) -> list[list[Sentence]]:
            batches = SentenceBatches(given_, size, random.Random(seed))
            return [batches.next() for _ in range(2 * len(given_) // size)]

        first = turns(1)
        assert turns(1) == first
        assert turns(2) != first
        assert first[: count // size] != first[count // size :]
        assert given_ == sentences(count, 0)  # left as it was


def test_a_sentence_given_twice_comes_twice() -> None:
    one, two = sentences(2, 0)
    batches = SentenceBatches([one, two, one], 3, random.Random(0))
    assert Counter(batches.next()) == {one: 2, two: 1}


def padded_share(count: int, size: int, turns: int = 3) -> float:
    """Tokens with padding over tokens without: what the recurrent layer pays for unlike lengths."""
    batches = SentenceBatches(sentences(count, 0), size, random.Random(1))
    real = padded = 0
    for _ in range(turns * count // size):
        lengths = list(map(len, batches.next()))
        real += sum(lengths)
        padded += size * max(lengths)
    return padded / real


@pytest.mark.parametrize(
    ("count", "size"), [(POOL * 10, 10), (400, 10), (405, 10), (2000, 20), (2003, 10)]
)
def test_batches_are_of_like_length_when_there_are_many(count: int, size: int) -> None:
    assert padded_share(count, size) < 1.1
    assert padded_share(POOL * size - size, size) > 1.5  # too few: as they come


def test_like_length_does_not_mean_short_ones_first() -> None:
    """Nor the same neighbours in every turn."""
    batches = SentenceBatches(sentences(400, 0), 10, random.Random(1))
    turns = [[batches.next() for _ in range(40)] for _ in range(2)]
    means = [sum(map(len, batch)) / 10 for batch in turns[0]]
    rises = sum(a < b for a, b in pairwise(means))
    assert 10 < rises < 30
    together = [{frozenset(s.tokens[0] for s in batch) for batch in turn} for turn in turns]
    assert not together[0] & together[1]


# --- the loop -------------------------------------------------------------------------------------


def test_a_step_for_each_of_the_budget_and_the_schedule_by_it() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    config = OptimiserConfig(name="sgd", rate=1.0, momentum=0, weight_decay=0, clip=1e9)
    optimiser = Optimiser([parameter], config)
    seen: list[float] = []
    told: list[tuple[int, int, str]] = []

    def fill() -> float:
        seen.append(parameter.item())
        parameter.grad = torch.ones(1)
        return 7.0

    def progress(done: int, total: int, remark: str = "") -> None:
        told.append((done, total, remark))

    assert take_steps(fill, optimiser, Budget(4), progress) == 4
    assert seen == [0.0, -1.0, -1.75, -2.25]  # full rate, then 3/4, 2/4
    assert parameter.item() == -2.5
    assert told == [(i, 4, "loss 7.00") for i in (1, 2, 3, 4)]


def test_no_step_without_a_budget() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = Optimiser([parameter], OptimiserConfig())

    def fill() -> float:
        raise AssertionError

    assert take_steps(fill, optimiser, Budget(0), no_progress) == 0


@pytest.mark.parametrize(
    ("loss", "slope"), [(float("nan"), 1.0), (float("inf"), 1.0), (1.0, float("nan"))]
)
def test_no_model_comes_of_numbers_that_are_none(loss: float, slope: float) -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = Optimiser([parameter], OptimiserConfig())
    taken = 0

    def fill() -> float:
        nonlocal taken
        taken += 1
        parameter.grad = torch.full((1,), slope if taken == 2 else 1.0)
        return loss if taken == 2 else 1.0

    with pytest.raises(TrainingDiverged, match="no model was written"):
        take_steps(fill, optimiser, Budget(5), no_progress)
    assert taken == 2
