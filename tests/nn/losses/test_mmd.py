"""MMD against the double sums of PDALN's eqs 4 and 6."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from adaptner.nn.losses import mmd as module
from adaptner.nn.losses.mmd import label_aware_mmd, maximum_mean_discrepancy


def points(count: int, width: int = 3, seed: int = 0, shift: float = 0.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=generator, dtype=torch.float64) + shift


def squared(a: Tensor, b: Tensor) -> float:
    return sum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True))


def naive(first: Tensor, second: Tensor, widths: int = 5, middle: float | None = None) -> float:
    """Eq. 4 as a loop over pairs."""
    every = [*first, *second]
    if middle is None:
        pairs = [(a, b) for i, a in enumerate(every) for j, b in enumerate(every) if i != j]
        middle = sum(squared(a, b) for a, b in pairs) / len(pairs)

    def k(a: Tensor, b: Tensor) -> float:
        sizes = [middle * 2.0 ** (u - widths // 2) for u in range(widths)]
        return sum(math.exp(-squared(a, b) / size) for size in sizes) / widths

    def mean(one: Tensor, other: Tensor) -> float:
        return sum(k(a, b) for a in one for b in other) / (len(one) * len(other))

    return mean(first, first) + mean(second, second) - 2 * mean(first, second)


@pytest.mark.parametrize(("ours", "theirs"), [(5, 7), (1, 4), (1, 1), (6, 2)])
@pytest.mark.parametrize("widths", [1, 4, 5])
def test_mmd_equals_the_double_sum(ours, theirs, widths):
    first, second = points(ours), points(theirs, seed=1, shift=0.7)
    assert float(maximum_mean_discrepancy(first, second, widths)) == pytest.approx(
        naive(first, second, widths)
    )
    given = float(maximum_mean_discrepancy(first, second, widths, middle=0.8))
    assert given == pytest.approx(naive(first, second, widths, 0.8))


@pytest.mark.parametrize("block", [1, 3, 4, 5, 100])
def test_result_does_not_depend_on_the_block_size(block, monkeypatch):
    first, second = points(5).requires_grad_(), points(7, seed=1).requires_grad_()
    want = maximum_mean_discrepancy(first, second)
    slopes = torch.autograd.grad(want, [first, second])
    monkeypatch.setattr(module, "_BLOCK", block)
    found = maximum_mean_discrepancy(first, second)
    assert float(found.detach()) == pytest.approx(float(want.detach()))
    for ours, theirs in zip(torch.autograd.grad(found, [first, second]), slopes, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_equal_samples_have_mmd_zero():
    first = points(300, 20).float()
    order = torch.randperm(300, generator=torch.Generator().manual_seed(5))
    assert abs(float(maximum_mean_discrepancy(first, first[order]))) < 1e-6
    assert (
        float(maximum_mean_discrepancy(first[:1].expand(4, -1), first[:1])) == 0
    )  # no two of them differ
    assert float(maximum_mean_discrepancy(first, first + 3)) > 0.1


def test_mmd_is_invariant_to_order_and_shift():
    """Swapping the sides, shifting and scaling change nothing (the widths scale too)."""
    first, second = points(8), points(5, seed=1, shift=0.5)
    want = float(maximum_mean_discrepancy(first, second))
    assert float(maximum_mean_discrepancy(second, first)) == pytest.approx(want)
    assert float(maximum_mean_discrepancy(first + 100, second + 100)) == pytest.approx(want)
    assert float(maximum_mean_discrepancy(first * 30, second * 30)) == pytest.approx(want)


def test_single_precision_far_from_the_origin():
    first, second = points(40, 8), points(30, 8, seed=1, shift=0.3)
    near = float(maximum_mean_discrepancy(first, second))
    assert float(
        maximum_mean_discrepancy((first + 50).float(), (second + 50).float())
    ) == pytest.approx(near, abs=1e-4)


def test_gradient_equals_finite_differences():
    first, second = points(4).requires_grad_(), points(3, seed=2, shift=1.0).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda a, b: maximum_mean_discrepancy(a, b, 5, 0.9), (first, second)
    )


def test_width_is_not_differentiated():
    first, second = points(4).requires_grad_(), points(3, seed=2, shift=1.0)
    every = torch.cat([first.detach(), second])
    distance = torch.cdist(every, every).square()
    middle = float(distance.sum()) / (7 * 6)
    found = torch.autograd.grad(maximum_mean_discrepancy(first, second), first)[0]
    torch.testing.assert_close(
        found, torch.autograd.grad(maximum_mean_discrepancy(first, second, middle=middle), first)[0]
    )


def test_label_aware_mmd_sums_over_shared_tags():
    first, second = points(9), points(8, seed=3, shift=0.4)
    ours = torch.tensor([0, 0, 1, 2, 2, 0, 1, 4, 4])  # 4 is ours alone
    theirs = torch.tensor([0, 3, 2, 2, 0, 1, 3, 0])  # 3 is theirs alone
    want = 0.25 * sum(naive(first[ours == y], second[theirs == y]) for y in (0, 1, 2))
    assert float(label_aware_mmd(first, ours, second, theirs)) == pytest.approx(want)
    assert float(label_aware_mmd(first, ours, second, theirs, weight=1.0)) == pytest.approx(
        4 * want
    )


def test_label_aware_mmd_without_shared_tags_is_zero():
    first = points(2).requires_grad_()
    found = label_aware_mmd(first, torch.tensor([0, 1]), points(1), torch.tensor([2]))
    assert float(found) == 0


def test_gradient_of_label_aware_mmd_equals_finite_differences():
    ours, theirs = torch.tensor([0, 1, 0, 1]), torch.tensor([1, 0, 0])
    first, second = points(4).requires_grad_(), points(3, seed=2).requires_grad_()
    found = torch.autograd.grad(label_aware_mmd(first, ours, second, theirs), [first, second])
    parts = [maximum_mean_discrepancy(first[ours == y], second[theirs == y]) for y in (0, 1)]
    want = torch.autograd.grad(0.25 * (parts[0] + parts[1]), [first, second])
    for one, other in zip(found, want, strict=True):
        torch.testing.assert_close(one, other)
