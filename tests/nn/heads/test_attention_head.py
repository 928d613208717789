"""MetaNER's discriminator against its equations, and the direction of its gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from builders import random_tensor, sentence
from torch import Tensor, nn

from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.heads.attention_head import AttentionDomainClassifier
from adaptner.nn.heads.domain_head import DomainClassifier
from adaptner.nn.model import Losses, ModelShape, Parameters, TaggingModel, group_of
from adaptner.types import LabelSet
from adaptner.vectors.word_vectors import WordVectors

WIDTH, DOMAINS = 4, 3
MASK = torch.tensor([[[1, 1, 1], [1, 0, 0]], [[1, 1, 0], [1, 1, 0]]]).bool()
CLASSES = torch.tensor([2, 0])


def states(seed: int = 1) -> Tensor:
    return random_tensor(2, 2, 3, WIDTH, seed=seed)


def head(reversal: bool = False, tasks: int = 2) -> AttentionDomainClassifier:
    """Different parameters for each task, large enough to show in the results."""
    g = torch.Generator().manual_seed(0)
    found = AttentionDomainClassifier(WIDTH, DOMAINS, g, reversal)
    for name, p in list(found.named_parameters()):
        value = torch.randn(tasks, *p.shape[1:], generator=g, dtype=torch.float64)
        setattr(found, name, nn.Parameter(value))
    return found


def naive_loss(
    ours: AttentionDomainClassifier, g: int, sentence: list[list[float]], wanted: int
) -> float:
    """-log p(y_d | c) of one sentence with Python numbers."""
    weights = {n: p[g].tolist() for n, p in ours.named_parameters()}
    strengths = []
    for h in sentence:  # eq. 9
        energy = weights["attention_bias"][0]
        for d in range(WIDTH):
            energy += h[d] * weights["attention_weight"][d]
        strengths.append(math.exp(math.tanh(energy)))
    pooled = [0.0] * WIDTH
    for h, strength in zip(sentence, strengths, strict=True):  # eq. 10
        for d in range(WIDTH):
            pooled[d] += h[d] * strength / sum(strengths)
    hidden = []  # eq. 11
    for row, bias in zip(weights["hidden_weight"], weights["hidden_bias"], strict=True):
        hidden.append(math.tanh(bias + sum(w * c for w, c in zip(row, pooled, strict=True))))
    scores = []
    for row, bias in zip(weights["weight"], weights["bias"], strict=True):
        scores.append(bias + sum(w * x for w, x in zip(row, hidden, strict=True)))
    return math.log(sum(map(math.exp, scores))) - scores[wanted]  # eq. 13


@pytest.mark.parametrize("reversal", [False, True])
def test_scores_and_loss_equal_equations_9_to_13(reversal):
    ours, x = head(reversal), states()
    found = ours(x, MASK, CLASSES)
    for g in range(2):
        sentences = [x[g, b][MASK[g, b]].tolist() for b in range(2)]
        costs = [naive_loss(ours, g, s, int(CLASSES[g])) for s in sentences]
        assert found[g].item() == pytest.approx(sum(costs) / 2, abs=1e-12)


def test_attention_by_hand():
    """tanh limits the ratio of two attention weights to e²."""
    ours = head(tasks=1)
    ours.attention_weight = nn.Parameter(torch.tensor([[1000.0, 0, 0, 0]]).double())
    ours.attention_bias = nn.Parameter(torch.zeros(1, 1).double())
    x = torch.tensor([[[[1.0, 8, 0, 0], [-1.0, 0, 8, 0]]]]).double()
    (found,) = ours.pooled(x, torch.ones(1, 1, 2).bool())[0].tolist()
    first = math.e / (math.e + 1 / math.e)
    assert found == pytest.approx([2 * first - 1, 8 * first, 8 * (1 - first), 0], abs=1e-12)


def test_initial_parameters_come_from_the_generator():
    one, two, other = (
        AttentionDomainClassifier(WIDTH, DOMAINS, torch.Generator().manual_seed(s), True)
        for s in (0, 0, 1)
    )
    shapes = {n: tuple(p.shape) for n, p in one.named_parameters()}
    assert shapes == {
        "attention_weight": (1, 4),
        "attention_bias": (1, 1),
        "hidden_weight": (1, 4, 4),
        "hidden_bias": (1, 4),
        "weight": (1, 3, 4),
        "bias": (1, 3),
    }
    for (name, p), q, r in zip(
        one.named_parameters(), two.parameters(), other.parameters(), strict=True
    ):
        assert torch.equal(p, q), name
        assert not torch.equal(p, r), name
        assert 0 < p.abs().max() <= 1 / math.sqrt(WIDTH), name


# --- independence of padding and other sentences ---------------------------------------------------


def test_states_in_the_padding_have_no_influence():
    x = states()
    before = head()(x, MASK, CLASSES)
    x[~MASK] = 1e3
    after = x.clone().requires_grad_()
    loss = head()(after, MASK, CLASSES)
    assert torch.equal(loss, before)
    (gradient,) = torch.autograd.grad(loss.sum(), after)
    assert not gradient[~MASK].any()
    assert gradient[MASK].all()


def test_other_sentences_have_no_influence():
    """The loss of a sentence does not depend on other tasks and sentences."""
    ours, x = head(), states()
    both = ours(x, MASK, CLASSES)
    x[1] = states(seed=9)[1]
    again = ours(x, MASK, CLASSES)
    assert torch.equal(again[0], both[0])
    assert not torch.equal(again[1], both[1])
    alone = [ours(x[:, b : b + 1], MASK[:, b : b + 1], CLASSES) for b in range(2)]
    torch.testing.assert_close(again, (alone[0] + alone[1]) / 2, atol=1e-14, rtol=0)


# --- directions of the gradients ------------------------------------------------------------------

HEADS: dict[str, Callable[[bool], nn.Module]] = {
    "mean": lambda reversal: DomainClassifier(
        WIDTH, DOMAINS, torch.Generator().manual_seed(0), reversal
    ).double(),
    "attention": lambda reversal: AttentionDomainClassifier(
        WIDTH, DOMAINS, torch.Generator().manual_seed(0), reversal
    ).double(),
}
both_heads = pytest.mark.parametrize("kind", HEADS)
both_signs = pytest.mark.parametrize("reversal", [True, False], ids=["reversed", "plain"])
STEP = 1e-5


def slope(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    """Central differences for each entry."""
    found = torch.zeros_like(at)
    for i in range(at.numel()):
        step = torch.zeros_like(at)
        step.view(-1)[i] = STEP
        found.view(-1)[i] = (function(at + step) - function(at - step)) / (2 * STEP)
    return found


@both_heads
@both_signs
def test_encoder_ascends_the_loss_that_the_head_descends(kind, reversal):
    """With the reversal, the gradient of a layer below the head is minus the derivative of the loss."""
    ours = HEADS[kind](reversal)
    x, mask, wanted = states()[:1], MASK[:1], CLASSES[:1]
    theta = 0.5 * torch.eye(WIDTH, dtype=torch.float64) + 0.1

    def loss(by: Tensor) -> Tensor:
        return ours(torch.tanh(x @ by), mask, wanted).sum()

    at = theta.clone().requires_grad_()
    (by_theta,) = torch.autograd.grad(loss(at), at)
    with torch.no_grad():
        up = slope(loss, theta)
    assert up.abs().max() > 1e-2
    torch.testing.assert_close(by_theta, -up if reversal else up, atol=1e-8, rtol=0)

    for name, p in ours.named_parameters():
        (by_gamma,) = torch.autograd.grad(loss(theta), p)
        start = p.detach().clone()

        def moved(value: Tensor, p: nn.Parameter = p) -> Tensor:
            with torch.no_grad():
                p.copy_(value)
                return loss(theta)

        expected = slope(moved, start)
        moved(start)
        torch.testing.assert_close(by_gamma, expected, atol=1e-8, rtol=0, msg=name)
        assert expected.abs().max() > 1e-4, name


VECTORS = WordVectors(("a", "b"), np.array([[1, -1], [0.5, 2]], dtype=np.float32))
LABELS = {"gene": LabelSet(("G",)), "drug": LabelSet(("D", "E"))}
TASKS = [
    [sentence("a b c", "O B-G I-G"), sentence("b", "O")],
    [sentence("c a", "B-E I-E"), sentence("b b a d", "B-D O B-E O")],
]


@both_heads
@both_signs
def test_gradients_of_the_whole_model_have_the_same_directions(kind, reversal):
    """The gradient of label + λ aux by the encoder is that of the label loss minus (without reversal, plus) λ
    times that of the auxiliary loss; by the head it is λ times that of the auxiliary loss in both cases."""
    batcher = WordBatcher(VECTORS, "abc")
    g = torch.Generator().manual_seed(0)
    config = EncoderConfig(
        char_embedding=2,
        char_cnn_filters=2,
        char_lstm=0,
        hidden=2,
        recurrent="gru",
        tune_words=True,
    )
    shape = ModelShape(head=kind, reversal=reversal)  # type: ignore[arg-type]
    model = TaggingModel(RecurrentEncoder(config, batcher, g), LABELS, g, shape).double()
    batch = batcher(TASKS, list(LABELS.values()))
    start, lam = model.stack_tasks([0, 1]), 0.7

    def losses(p: Parameters) -> Losses:
        return model.losses(p, batch, [0, 1], aux_weight=lam)

    at = {n: p.clone().requires_grad_() for n, p in start.items()}
    found = losses(at)
    assert found.aux is not None
    torch.testing.assert_close(found.total, found.label + lam * found.aux)
    gradients = dict(
        zip(at, torch.autograd.grad(found.total.sum(), list(at.values())), strict=True)
    )
    sign = -1 if reversal else 1
    seen = 0.0
    for number, (name, value) in enumerate(start.items()):
        towards = random_tensor(*value.shape, seed=number)
        with torch.no_grad():
            ahead = losses({**start, name: value + STEP * towards})
            behind = losses({**start, name: value - STEP * towards})
        label = (ahead.label - behind.label).sum() / (2 * STEP)
        aux = (ahead.aux - behind.aux).sum() / (2 * STEP)
        ours = (gradients[name] * towards).sum()
        group = group_of(name)
        expected = {"encoder": label + sign * lam * aux, "decoder": label, "head": lam * aux}[group]
        torch.testing.assert_close(ours, expected, atol=1e-8, rtol=1e-6, msg=name)
        if group == "encoder":
            seen = max(seen, float(aux.abs()))
    assert seen > 1e-2  # a wrong sign would show
