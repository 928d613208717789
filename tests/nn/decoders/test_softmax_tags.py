"""The softmax decoder: an independent softmax per token, and no constraints between tags."""

from __future__ import annotations

import math

import torch

from adaptner.nn.decoders.crf import TagConstraints
from adaptner.nn.decoders.softmax_tags import SoftmaxDecoder
from adaptner.types import LabelSet

LABELS = LabelSet(("A", "B"))


def build(labels: LabelSet = LABELS) -> SoftmaxDecoder:
    return SoftmaxDecoder(3, labels, torch.Generator().manual_seed(0)).double()


def states() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(1)
    values = torch.randn(1, 2, 4, 3, generator=rng, dtype=torch.float64)
    tags = torch.tensor([[[0, 1, 2, 4], [3, 0, 0, 0]]])
    mask = torch.tensor([[[True] * 4, [True, False, False, False]]])
    return values, tags, mask


def naive_scores(decoder: SoftmaxDecoder, state: torch.Tensor) -> list[float]:
    weight, bias = decoder.weight[0].tolist(), decoder.bias[0].tolist()
    return [
        b + sum(w * x for w, x in zip(row, state.tolist(), strict=True))
        for row, b in zip(weight, bias, strict=True)
    ]


def test_loss_marginals_and_tags_equal_a_loop_over_tokens():
    decoder = build()
    values, tags, mask = states()
    losses, marginals = decoder(values, tags, mask).detach(), decoder.marginals(values, mask)
    best = decoder.decode(values, mask)
    for b in range(2):
        loss = 0.0
        for at in range(4):
            if not mask[0, b, at]:
                continue
            scores = naive_scores(decoder, values[0, b, at])
            total = sum(map(math.exp, scores))
            loss -= math.log(math.exp(scores[tags[0, b, at]]) / total)
            for tag, score in enumerate(scores):
                assert math.isclose(marginals[0, b, at, tag], math.exp(score) / total)
            assert int(best[0, b, at]) == scores.index(max(scores))
        assert math.isclose(float(losses[0, b]), loss)


def test_surplus_tags_of_a_task_have_probability_zero():
    """Two tasks at once, with parameters padded to the larger label set."""
    small, large = build(LabelSet(("A",))), build()
    values, _, mask = states()
    tags = torch.tensor([[[0, 1, 2, 0], [1, 0, 0, 0]]])
    weight = torch.cat([torch.nn.functional.pad(small.weight, (0, 0, 0, 2)), large.weight])
    bias = torch.cat([torch.nn.functional.pad(small.bias, (0, 2)), large.bias])
    both = torch.func.functional_call(
        large,
        {"weight": weight, "bias": bias},
        (
            torch.cat([values] * 2),
            torch.cat([tags] * 2),
            torch.cat([mask] * 2),
            TagConstraints([small.labels, large.labels]),
        ),
    )
    torch.testing.assert_close(both[0], small(values, tags, mask)[0])
    torch.testing.assert_close(both[1], large(values, tags, mask)[0])
