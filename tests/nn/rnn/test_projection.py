"""The linear layer of several tasks against einsum."""

from __future__ import annotations

import pytest
import torch
from builders import random_tensor
from torch import Tensor

from adaptner.nn.rnn.projection import project


def inputs(tasks: int, symbols: int, width: int, rows: int) -> list[Tensor]:
    shapes = [(tasks, symbols, width), (tasks, rows, width), (tasks, rows)]
    return [random_tensor(*shape, seed=n).requires_grad_() for n, shape in enumerate(shapes)]


def naive(symbols: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.einsum("gsd,grd->gsr", symbols, weight) + bias[:, None]


@pytest.mark.parametrize("same", [False, True], ids=["own weights", "the same weights"])
@pytest.mark.parametrize(
    ("sizes", "precision"),
    [((2, 5, 4, 3), 1e-12), ((2, 60, 110, 160), 1e-3)],
    ids=["small, double", "large, single"],  # the large products are oneDNN's
)
def test_values_and_gradients_equal_einsum(sizes, precision, same):
    dtype = torch.float64 if precision < 1e-6 else torch.float32
    symbols, weight, bias = (x.detach() for x in inputs(*sizes))
    if same:
        weight, bias = weight[:1].expand_as(weight), bias[:1].expand_as(bias)
    given = [x.to(dtype).requires_grad_() for x in (symbols, weight, bias)]
    exact = [x.double().requires_grad_() for x in (symbols, weight, bias)]
    found, truth = project(*given), naive(*exact)
    torch.testing.assert_close(found.double(), truth, atol=precision, rtol=0)
    pull = random_tensor(*truth.shape, seed=4)
    gradients = torch.autograd.grad(found, given, pull.to(dtype))
    assert [g.stride() for g in gradients] == [g.contiguous().stride() for g in gradients]
    torch.testing.assert_close(
        [g.double() for g in gradients],
        list(torch.autograd.grad(truth, exact, pull)),
        atol=precision,
        rtol=0,
    )


def test_frozen_numbers_have_gradient_zero_and_change_no_other_gradient():
    given = inputs(2, 5, 4, 3)
    truth = torch.autograd.grad(project(*given).square().sum(), given)
    found = torch.autograd.grad(project(*given, 3).square().sum(), given)
    assert found[0][..., :3].abs().max() == 0
    torch.testing.assert_close(found[0][..., 3:], truth[0][..., 3:])
    torch.testing.assert_close(found[1:], truth[1:])


def test_projection_passes_gradcheck_and_gradgradcheck():
    given = inputs(2, 2, 3, 2)
    assert torch.autograd.gradcheck(project, given)
    assert torch.autograd.gradgradcheck(project, given)
