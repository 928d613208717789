"""The sampled softmax: equations 5, 6 and 8 by loops, its limit, and its negative samples."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from adaptner.nn.losses.sampled_softmax import (
    EDGE,
    NegativeSampler,
    OutputWordTable,
    language_model_loss,
    neighbour_words,
    sampled_softmax_losses,
)

WORDS, WIDTH = 9, 4


@pytest.fixture
def table() -> torch.Tensor:
    found = OutputWordTable(WORDS, WIDTH, torch.Generator().manual_seed(4)).table.detach()
    found[:, -1] = torch.linspace(-1, 1, WORDS)  # biases large enough to show
    return found


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(8))


def test_loss_of_a_word_equals_equations_5_and_6(table):
    states, wanted, negatives = random(3, WIDTH), torch.tensor([2, 5, 8]), torch.tensor([1, 5, 7])
    found = sampled_softmax_losses(states, table, wanted, negatives)
    for n in range(3):
        score = {
            x: float(states[n] @ table[x, :-1] + table[x, -1]) for x in {int(wanted[n]), 1, 5, 7}
        }
        z = math.fsum(map(math.exp, score.values()))
        assert float(found[n]) == pytest.approx(math.log(z) - score[int(wanted[n])], rel=1e-5)


def test_all_words_as_negatives_give_the_full_softmax(table):
    states, wanted = random(6, WIDTH), torch.tensor([0, 3, 3, 8, 1, 4])
    full = F.cross_entropy(states @ table[:, :-1].T + table[:, -1], wanted, reduction="none")
    found = sampled_softmax_losses(states, table, wanted, torch.arange(WORDS))
    torch.testing.assert_close(found, full)


def test_more_negatives_approach_the_full_softmax():
    random_words = torch.Generator().manual_seed(0)
    rows = torch.randn(2000, 9, generator=random_words)
    states, wanted = random(50, 8), torch.randint(0, 2000, (50,), generator=random_words)
    full = sampled_softmax_losses(states, rows, wanted, torch.arange(2000)).mean()
    draws = NegativeSampler(torch.ones(2000))
    gaps = [
        float(
            full - sampled_softmax_losses(states, rows, wanted, draws.draw(n, random_words)).mean()
        )
        for n in (10, 100, 1000, 20000)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert 0 <= gaps[-1] < 0.01


def test_neighbours_end_at_the_edges():
    words = torch.tensor([[5, 6, 7], [8, 4, 0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    after, before = neighbour_words(words, mask)
    assert after[mask].tolist() == [6, 7, EDGE, 4, EDGE]
    assert before[mask].tolist() == [EDGE, 5, 6, EDGE, 8]


def test_loss_of_a_batch_equals_equation_8(table):
    words = torch.tensor([[5, 6, 7], [8, 4, 0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    states, negatives = random(2, 3, 2 * WIDTH), torch.tensor([2, 4, 6])
    known = torch.tensor([EDGE, 2, 4, 5, 6, 7, 8])  # rows 0 and 3 are not used
    found = language_model_loss(states, words, mask, table[known], known, negatives)
    total = 0.0
    for n, sentence in enumerate(([5, 6, 7], [8, 4])):
        length = len(sentence)
        for t in range(length):
            after = sentence[t + 1] if t + 1 < length else EDGE
            before = sentence[t - 1] if t else EDGE
            for wanted, h in ((after, states[n, t, :WIDTH]), (before, states[n, t, WIDTH:])):
                total += float(
                    sampled_softmax_losses(h[None], table, torch.tensor([wanted]), negatives)
                )
    assert float(found) == pytest.approx(total / (2 * 2), rel=1e-5)


def test_negatives_follow_the_frequencies():
    counts = torch.tensor([0.0, 30.0, 0.0, 10.0, 60.0, 0.0])
    draws, generator = NegativeSampler(counts), torch.Generator().manual_seed(0)
    seen = torch.zeros(6)
    for _ in range(4000):
        seen[draws.draw(1, generator)] += 1
    assert seen[[0, 2, 5]].sum() == 0
    torch.testing.assert_close(seen / 4000, counts / 100, atol=0.03, rtol=0)


def test_negatives_are_distinct_and_reproducible():
    draws = NegativeSampler(torch.arange(50.0))
    one, two = (draws.draw(40, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(one, two)
    assert torch.equal(one, one.unique())
    assert len(one) < 40  # some were drawn twice
