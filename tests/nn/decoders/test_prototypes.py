"""The prototypical classifier by hand: class means, distances, the score of O, unseen classes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from adaptner.nn.decoders.prototypes import (
    PrototypeDecoder,
    class_means,
    class_sums,
    prototype_scores,
    token_losses,
)
from adaptner.types import LabelSet

LABELS = LabelSet(("X", "Y"))  # O, B-X, I-X, B-Y, I-Y
NONE, BX, IX, BY, IY = range(5)
CLASSES = 5
FAR = 99.0  # fills the padding

# Two support sentences: (state, tag) of every token.
SUPPORT = [
    [((1.0, 1.0), NONE), ((2.0, 0.0), BX), ((4.0, 2.0), IX)],
    [((4.0, 0.0), BX), ((0.0, 6.0), BY)],
]
MEANS = {BX: (3.0, 0.0), IX: (4.0, 2.0), BY: (0.0, 6.0)}
OUTSIDE = -4.0
TOKEN = (1.0, 1.0)
DISTANCES = {BX: 2.0**2 + 1, IX: 3.0**2 + 1, BY: 1 + 5.0**2}


def padded(sentences: list[list[tuple[tuple[float, ...], int]]]) -> tuple[Tensor, Tensor, Tensor]:
    """States, tags and mask of one task; the padding holds numbers that would change the results."""
    longest = max(map(len, sentences))
    filler = ((FAR, FAR), BY)
    rows = [[*s, *[filler] * (longest - len(s))] for s in sentences]
    states = torch.tensor([[x for x, _ in s] for s in rows], dtype=torch.float64)[None]
    tags = torch.tensor([[t for _, t in s] for s in rows])[None]
    mask = torch.tensor([[i < len(s) for i in range(longest)] for s in sentences])[None]
    return states, tags, mask


def decoder() -> PrototypeDecoder:
    found = PrototypeDecoder(2, LABELS, torch.Generator()).double()
    with torch.no_grad():
        found.outside.fill_(OUTSIDE)
    found.set_means(*class_means(*class_sums(*padded(SUPPORT), CLASSES)))
    return found


# --- by hand --------------------------------------------------------------------------------------


def test_class_means_are_means_of_token_states():
    sums, counts = class_sums(*padded(SUPPORT), CLASSES)
    assert counts.tolist() == [[1, 2, 1, 1, 0]]
    assert sums[0].tolist() == [[1, 1], [6, 0], [4, 2], [0, 6], [0, 0]]
    means, seen = class_means(sums, counts)
    assert seen.tolist() == [[False, True, True, True, False]]  # O has a score instead
    for tag, mean in MEANS.items():
        assert tuple(means[0, tag].tolist()) == mean
    assert means.isfinite().all()


def test_scores_are_negative_squared_distances_and_a_number_for_o():
    ours = decoder()
    scores = ours.tag_scores(torch.tensor([[[TOKEN]]]).double())
    assert scores.shape == (1, 1, 1, CLASSES)
    found = scores.flatten().tolist()
    assert found[NONE] == OUTSIDE
    for tag, distance in DISTANCES.items():
        assert found[tag] == pytest.approx(-distance, abs=1e-12)
    assert found[IY] < -9999


@pytest.mark.parametrize("tag", [NONE, BX, IX, BY])
def test_loss_of_one_token_by_hand(tag):
    scores = {NONE: OUTSIDE, **{t: -d for t, d in DISTANCES.items()}}
    expected = math.log(sum(map(math.exp, scores.values()))) - scores[tag]
    states, mask = torch.tensor([[[TOKEN]]]).double(), torch.ones(1, 1, 1).bool()
    found = decoder()(states, torch.tensor([[[tag]]]), mask)
    assert found.shape == (1, 1)
    assert found.item() == pytest.approx(expected, abs=1e-12)
    probability = decoder().marginals(states, mask)[0, 0, 0, tag].item()
    assert probability == pytest.approx(math.exp(-expected), abs=1e-12)


def test_sentence_loss_is_the_sum_over_tokens_without_padding():
    query = [[(TOKEN, NONE), ((4.0, 1.0), IX), ((0.0, 5.0), BY)], [((3.0, 1.0), BX)]]
    ours = decoder()
    one = torch.ones(1, 1, 1).bool()
    found = ours(*padded(query))[0].tolist()
    for cost, sentence in zip(found, query, strict=True):
        alone = [
            ours(torch.tensor([[[x]]]).double(), torch.tensor([[[t]]]), one).item()
            for x, t in sentence
        ]
        assert cost == pytest.approx(sum(alone), abs=1e-12)


def test_nearest_mean_wins_unless_o_is_nearer():
    points = [(3.2, 0.1), (4.0, 1.9), (0.5, 5.0), (-9.0, -9.0), TOKEN]
    states = torch.tensor([[points]]).double()
    mask = torch.ones(1, 1, 5).bool()
    assert decoder().decode(states, mask)[0, 0].tolist() == [BX, IX, BY, NONE, NONE]
    nearer = decoder()
    with torch.no_grad():
        nearer.outside.fill_(-DISTANCES[BX] - 0.1)
    assert nearer.decode(states, mask)[0, 0, -1].item() == BX


# --- classes that the support does not show -------------------------------------------------------


def test_unseen_class_is_never_predicted():
    """The token is where the mean of the unseen class would be, and O has a very low score."""
    ours = decoder()
    with torch.no_grad():
        ours.outside.fill_(-1000)
    origin, mask = torch.zeros(1, 1, 1, 2).double(), torch.ones(1, 1, 1).bool()
    assert ours.decode(origin, mask).item() == BX
    assert ours.marginals(origin, mask)[0, 0, 0, IY].item() == 0


def test_token_of_an_unseen_class_is_ignored():
    query = [[(TOKEN, BX), ((2.0, 2.0), BY), ((0.0, 0.0), IY)]]
    without = [query[0][:2]]
    results = []
    for sentences in (query, without):
        means, seen = class_means(*class_sums(*padded(SUPPORT), CLASSES))
        states, tags, mask = padded(sentences)
        at = [states.requires_grad_(), means.requires_grad_(), torch.tensor([OUTSIDE]).double()]
        at[2].requires_grad_()
        loss = token_losses(prototype_scores(at[0], at[1], seen, at[2]), tags, mask, seen)
        results.append((loss.detach(), torch.autograd.grad(loss.sum(), at)))
    (loss, (states, *others)), (shorter, (fewer, *same)) = results
    assert loss.item() == pytest.approx(shorter.item(), abs=1e-12)
    torch.testing.assert_close(states[:, :, :2], fewer)
    assert not states[:, :, 2].any()
    torch.testing.assert_close(others, same)
    assert fewer.abs().max() > 0.1


def test_query_of_unseen_classes_only_has_loss_zero():
    means, seen = class_means(*class_sums(*padded(SUPPORT), CLASSES))
    states, tags, mask = padded([[(TOKEN, IY)]])
    states.requires_grad_()
    loss = token_losses(
        prototype_scores(states, means, seen, torch.zeros(1).double()), tags, mask, seen
    ).sum()
    assert loss.item() == 0
    assert not torch.autograd.grad(loss, states)[0].any()


def test_untrained_decoder_predicts_o():
    ours = PrototypeDecoder(2, LABELS, torch.Generator())
    assert not ours.decode(torch.zeros(1, 2, 3, 2), torch.ones(1, 2, 3).bool()).any()
