"""PDALN's eq. 7 by hand, naively and by finite differences."""

from __future__ import annotations

import math

import pytest
import torch

from adaptner.methods.pdaln.losses import ContrastiveProjection, contrastive_loss


def test_contrastive_loss_of_two_sentences():
    """Two sentences, τ = 0.5: z1 = (1, 0), z̄1 = (1, 1), z2 = (0, 1), z̄2 = (0, 2)."""
    z, bar = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    # scores of z1: 2 with z̄1, 0 with z2 and z̄2; of z2: 4 with z̄2, 0 with z1, 2 with z̄1
    first = -math.log(math.exp(2) / (math.exp(2) + 1 + 1))
    second = -math.log(math.exp(4) / (math.exp(4) + 1 + math.exp(2)))
    assert float(contrastive_loss(z, bar, 0.5)) == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("unit", [False, True])
def test_contrastive_loss_sums_over_all_other_sentences_and_copies(unit):
    generator = torch.Generator().manual_seed(0)
    head = ContrastiveProjection(3, generator)
    plain, distorted = (torch.randn(5, 3, generator=generator) for _ in range(2))
    z, bar = ([head.weight.detach().T @ h for h in side] for side in (plain, distorted))
    if unit:
        z, bar = ([v / v.norm() for v in side] for side in (z, bar))
    total = 0.0
    for i in range(5):
        others = [v for j in range(5) if j != i for v in (z[j], bar[j])]
        below = sum(math.exp(float(z[i] @ v) / 0.05) for v in (bar[i], *others))
        total -= math.log(math.exp(float(z[i] @ bar[i]) / 0.05) / below)
    found = float(head(plain, distorted, 0.05, unit).detach())
    assert found == pytest.approx(total / 5, rel=1e-4)


def test_single_sentence_has_loss_zero_and_a_finite_gradient():
    z = torch.ones(1, 3, requires_grad=True)
    loss = contrastive_loss(z, torch.ones(1, 3), 0.05)
    assert float(loss.detach()) == 0
    assert bool(torch.autograd.grad(loss, z)[0].isfinite().all())


def test_gradient_equals_finite_differences():
    generator = torch.Generator().manual_seed(0)
    z, bar = (torch.randn(3, 2, generator=generator, dtype=torch.float64) for _ in range(2))
    given = z.requires_grad_(), bar.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: contrastive_loss(a, b, 0.7), given)
