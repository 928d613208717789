"""The domain classifier by hand, and gradient reversal (its effect on both heads: test_attention_head)."""

from __future__ import annotations

import math

import pytest
import torch
from builders import random_tensor
from torch import nn
from torch.nn import functional as F

from adaptner.nn.heads.domain_head import DomainClassifier
from adaptner.nn.losses.gradient_reversal import reverse_gradient

MASK = torch.tensor([[[1, 1, 1], [1, 0, 0]], [[1, 1, 0], [1, 1, 0]]]).bool()


def states() -> torch.Tensor:
    return random_tensor(2, 2, 3, 4, seed=1)


def head(tasks: int = 2) -> DomainClassifier:
    g = torch.Generator().manual_seed(0)
    found = DomainClassifier(4, 3, g).double()
    found.weight = nn.Parameter(torch.randn(tasks, 3, 4, generator=g, dtype=torch.float64))
    found.bias = nn.Parameter(torch.randn(tasks, 3, generator=g, dtype=torch.float64))
    return found


def test_loss_is_cross_entropy_of_the_masked_mean():
    """States in the padding have no influence."""
    ours, x, domains = head(), states(), torch.tensor([2, 0])
    found = ours(x, MASK, domains)
    for g in range(2):
        total = 0.0
        for b in range(2):
            tokens = x[g, b][MASK[g, b]]
            scores = F.linear(tokens.mean(0), ours.weight[g], ours.bias[g])
            total += F.cross_entropy(scores[None], domains[g : g + 1]).item()
        assert found[g].item() == pytest.approx(total / 2, abs=1e-12)


def test_loss_by_hand():
    ours = head(tasks=1)
    ours.weight = nn.Parameter(torch.tensor([[[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]]))
    ours.bias = nn.Parameter(torch.zeros(1, 3))
    x = torch.tensor([[[[2.0, 9, 9, 9], [4.0, 9, 9, 9], [1000.0, 0, 0, 0]]]])
    found = ours(x, torch.tensor([[[True, True, False]]]), torch.tensor([0]))
    assert found.item() == pytest.approx(math.log(1 + 2 * math.exp(-3)), abs=1e-6)


def test_reverse_gradient_scales_and_can_be_differentiated_twice():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = reverse_gradient(x, 0.5)
    assert torch.equal(y, x)
    (once,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    torch.testing.assert_close(once, -0.5 * 3 * x**2)
    # the inner x of 3x² lies behind the reversal as well
    (twice,) = torch.autograd.grad(once.sum(), x)
    torch.testing.assert_close(twice, 0.25 * 6 * x.detach())
