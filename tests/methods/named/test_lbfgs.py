"""L-BFGS against scipy's, on a convex function that is no parabola."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from adaptner.methods.named.lbfgs import minimise, parameters_to_rows, rows_to_parameters

optimize = pytest.importorskip("scipy.optimize")


@pytest.mark.parametrize("seed", range(5))
def test_minimum_is_that_of_scipy(seed):
    """Logistic regression with a penalty, badly scaled."""
    rng = torch.Generator().manual_seed(seed)
    inputs = torch.randn(40, 12, generator=rng, dtype=torch.float64)
    inputs = inputs * torch.logspace(-1, 1, 12, dtype=torch.float64)
    signs = torch.randn(40, generator=rng, dtype=torch.float64).sign()

    def function(point: Tensor) -> tuple[float, Tensor]:
        point = point.detach().requires_grad_()
        value = torch.nn.functional.softplus(-signs * (inputs @ point)).sum() + 0.1 * point @ point
        (slope,) = torch.autograd.grad(value, point)
        return float(value.detach()), slope

    def alone(points: Tensor) -> tuple[Tensor, Tensor]:
        value, slope = function(points[0])
        return torch.tensor([value], dtype=torch.float64), slope[None]

    start = torch.zeros(12, dtype=torch.float64)
    rows, steps = minimise(alone, start[None], 200, tolerance=1e-12)
    found = rows[0]
    known = optimize.minimize(
        lambda x: tuple(np.asarray(v) for v in function(torch.from_numpy(x))),
        start.numpy(),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    assert 0 < steps <= 200
    assert function(found)[0] == pytest.approx(known.fun, rel=1e-8)
    np.testing.assert_allclose(found.numpy(), known.x, atol=1e-4)


def test_steps_are_limited_and_each_decreases_the_value():
    def parabola(points: Tensor) -> tuple[Tensor, Tensor]:
        scale = torch.tensor([1.0, 100.0, 10.0])
        return (scale * points**2).sum(1), 2 * scale * points

    start = torch.tensor([[3.0, -2.0, 1.0]])
    values = [float(parabola(minimise(parabola, start, n)[0])[0]) for n in range(8)]
    assert values[0] == float(parabola(start)[0])
    assert all(after < before for before, after in pairwise(values))
    at_rest, steps = minimise(parabola, torch.zeros(1, 3), 5)
    assert steps == 0
    assert not at_rest.any()


def test_parameters_survive_the_conversion_to_rows():
    tensors = [torch.arange(12.0).view(2, 2, 3), torch.tensor([[7.0], [8.0]])]
    copies = [torch.zeros(2, 2, 3), torch.zeros(2, 1)]
    assert parameters_to_rows(tensors)[1].tolist() == [6, 7, 8, 9, 10, 11, 8]
    rows_to_parameters(parameters_to_rows(tensors), copies)
    assert all(torch.equal(a, b) for a, b in zip(tensors, copies, strict=True))


def test_functions_side_by_side_have_the_minima_they_have_alone():
    """Rows of unlike scale, one at rest from the start."""
    scale = torch.tensor([[1.0, 100.0, 10.0], [0.01, 5.0, 1.0], [3.0, 3.0, 3.0]]).double()
    middle = torch.tensor([[1.0, 2.0, -1.0], [4.0, 0.0, 0.5], [0.0, 0.0, 0.0]]).double()

    def every(points: Tensor, which: slice = slice(None)) -> tuple[Tensor, Tensor]:
        off, s = points - middle[which], scale[which]
        return (s * off**2 + off**4).sum(1), 2 * s * off + 4 * off**3

    start = torch.zeros(3, 3).double()
    together, _ = minimise(every, start, 100, tolerance=1e-14)
    torch.testing.assert_close(together, middle, atol=1e-4, rtol=0)
    for row in range(3):
        own = slice(row, row + 1)
        alone, _ = minimise(lambda p, own=own: every(p, own), start[own], 100, tolerance=1e-14)
        torch.testing.assert_close(alone[0], together[row], atol=1e-4, rtol=0)
