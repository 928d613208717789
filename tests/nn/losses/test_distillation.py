"""Differentiable token marginals and the losses over them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from adaptner.nn.decoders.crf import CRF
from adaptner.nn.losses.distillation import distillation_loss, kl_divergence
from adaptner.types import LabelSet

LABELS = [LabelSet(("X",)), LabelSet(("A", "B"), "bioes"), LabelSet(tuple("PQRST"))]


def case(labels: LabelSet, seed: int = 0) -> tuple[CRF, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    decoder = CRF(4, labels, generator).double()
    states = torch.randn(1, 3, 6, 4, generator=generator, dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor([6, 3, 1])[:, None]
    return decoder, states, mask[None]


@pytest.mark.parametrize("labels", LABELS)
def test_log_marginals_are_those_of_the_crf(labels):
    decoder, states, mask = case(labels)
    found = decoder.log_marginals(states, mask).exp()
    torch.testing.assert_close(found.sum(-1)[mask], torch.ones(10, dtype=torch.float64))
    torch.testing.assert_close(found[mask].detach(), decoder.marginals(states, mask)[mask])


def test_padding_does_not_change_log_marginals():
    decoder, states, mask = case(LABELS[0])
    alone = decoder.log_marginals(states[:, 1:2, :3], mask[:, 1:2, :3])
    torch.testing.assert_close(decoder.log_marginals(states, mask)[:, 1:2, :3], alone)


def test_gradient_of_log_marginals_equals_finite_differences():
    decoder, states, mask = case(LABELS[0])
    weights = torch.randn(10, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def sum_of_some(states: Tensor, transition: Tensor) -> Tensor:
        inputs = {"transition": transition, "weight": decoder.weight.detach()}
        found = torch.func.functional_call(_Marginals(decoder), _named(inputs), (states, mask))
        return (found.exp()[mask] * weights).sum()

    given = states.requires_grad_(), decoder.transition.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(sum_of_some, given)


class _Marginals(torch.nn.Module):
    def __init__(self, decoder: CRF) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return self.decoder.log_marginals(states, mask)


def _named(values: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"decoder.{name}": value for name, value in values.items()}


def test_forbidden_tags_have_finite_losses():
    decoder, states, mask = case(LABELS[1])
    decoder.float()
    found = decoder.log_marginals(states.float(), mask)
    loss = distillation_loss(found.detach().exp(), found, mask)
    slopes = torch.autograd.grad(loss, list(decoder.parameters()))
    assert all(bool(g.isfinite().all()) for g in slopes)
    assert float(found.detach()[0, 2, 0].min()) < -5000  # I-A cannot start a sentence


def test_distillation_loss_by_hand():
    """The second term of eq. 11 over two tokens; of two more, one is padding and one below the confidence."""
    teacher = torch.tensor([[0.75, 0.25], [0.2, 0.8], [1.0, 0.0], [0.55, 0.45]])
    student = torch.tensor([[0.5, 0.5], [0.1, 0.9], [0.5, 0.5], [0.3, 0.7]]).log()
    mask = torch.tensor([True, True, False, True])
    first = math.log(2)
    second = -0.2 * math.log(0.1) - 0.8 * math.log(0.9)
    third = -0.55 * math.log(0.3) - 0.45 * math.log(0.7)
    assert float(distillation_loss(teacher, student, mask)) == pytest.approx(
        (first + second + third) / 3
    )
    assert float(distillation_loss(teacher, student, mask, 0.6)) == pytest.approx(
        (first + second) / 2
    )
    assert float(distillation_loss(teacher, student, mask, 1.0)) == 0  # no token counts


def test_gradient_is_zero_if_student_and_teacher_agree():
    decoder, states, mask = case(LABELS[2])
    found = decoder.log_marginals(states, mask)
    loss = distillation_loss(found.detach().exp(), found, mask)
    for slope in torch.autograd.grad(loss, list(decoder.parameters())):
        assert float(slope.abs().max()) < 1e-12


def test_kl_divergence_by_hand():
    first = torch.tensor([[0.5, 0.5], [0.9, 0.1]], dtype=torch.float64).log()
    second = torch.tensor([[0.25, 0.75], [0.9, 0.1]], dtype=torch.float64).log()
    mask = torch.tensor([True, True])
    want = 0.5 * math.log(2) + 0.5 * math.log(2 / 3)
    assert float(kl_divergence(first, second, mask)) == pytest.approx(want / 2)
    assert float(kl_divergence(first, second, mask & torch.tensor([True, False]))) == pytest.approx(
        want
    )
