"""Maximum mean discrepancy (PDALN eqs 3 to 6): how far apart two samples of states are.

The kernel is a mean of Gaussians whose widths go up by factors of two (Long et al. 2015), so that one
exponential and repeated squaring give them all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

WIDTHS = 5
_BLOCK = 256  # rows at a time: what a block needs stays in the processor's cache


def mmd(first: Tensor, second: Tensor, widths: int = WIDTHS, middle: float | None = None) -> Tensor:
    """Eq. 4, the squared discrepancy of (N, d) and (M, d): between 0 and 2, and 0 for equal samples.

    k(a, b) is the mean over u of exp(-|a - b|^2 / (middle 2^(u - widths // 2))). ``middle`` is, unless
    given, the mean squared distance of all pairs, and a constant to differentiation."""
    both = torch.cat([first, second])
    # The centre changes no distance, but how much of a distance is lost to rounding.
    points = both - both.detach().mean(0)
    if middle is None:
        middle = _mean_distance(points.detach())
    # The mean embeddings' difference is Σ c_i φ(z_i): eq. 4 is c' K c, over one symmetric matrix.
    signs = torch.cat(
        [points.new_full((len(part),), s / len(part)) for part, s in ((first, 1), (second, -1))]
    )
    return _QuadraticForm.apply(points, signs, widths, middle)  # type: ignore[no-any-return]


def label_aware_mmd(
    first: Tensor,
    first_tags: Tensor,
    second: Tensor,
    second_tags: Tensor,
    weight: float = 0.25,
    widths: int = WIDTHS,
) -> Tensor:
    """Eq. 6: Σ_y μ_y d²(H_y, H_y) over the tags that both sides have, μ_y = ``weight`` each.

    ``first`` (N, d) are token states and ``first_tags`` (N,) their tags, numbered alike on both sides."""
    total = first.new_zeros(())
    for tag in sorted(set(first_tags.tolist()) & set(second_tags.tolist())):
        total = total + mmd(first[first_tags == tag], second[second_tags == tag], widths)
    return weight * total


def _mean_distance(points: Tensor) -> float:
    """Mean of |a - b|² over all pairs of different points, from sums alone."""
    count = len(points)
    values = points.double()
    total = 2 * (count * values.square().sum() - values.sum(0).square().sum())
    mean = float(total) / (count * (count - 1))
    return mean if mean > 0 else 1.0  # all alike: any width gives 0


class _QuadraticForm(torch.autograd.Function):
    """Σ_ij c_i c_j k(z_i, z_j). The gradient, Σ_j 4 c_i c_j k'(d_ij) (z_i - z_j) by each z_i, comes
    with the value, block by block: no matrix of all pairs is ever kept, and of two symmetric blocks
    one is computed."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, signs: Tensor, widths: int, middle: float) -> Tensor:
        wanted = ctx.needs_input_grad[0]
        widest = middle * 2.0 ** (widths - 1 - widths // 2)
        norms = points.square().sum(1)
        gradient = torch.zeros_like(points)
        value = points.new_zeros((), dtype=torch.float64)
        for at in range(0, len(points), _BLOCK):
            here, rest = points[at : at + _BLOCK], points[at:]
            own = len(here)
            distance = torch.addmm(norms[at:], here, rest.T, alpha=-2)
            distance += norms[at : at + own, None]
            power = distance.clamp_(min=0).mul_(-1 / widest).exp_()
            pairs = signs[at : at + own, None] * signs[at:]
            pairs[:, own:] *= 2  # each stands for its mirror image too
            kernel, slope = power.clone(), power.clone()
            for doubling in range(1, widths):
                power.square_()
                kernel += power
                slope.add_(power, alpha=2.0**doubling)
            value += (kernel * pairs).sum(dtype=torch.float64)
            if not wanted:
                continue
            pull = slope.mul_(pairs)
            pull[:, own:] /= 2
            gradient[at : at + own] += here * pull.sum(1, keepdim=True) - pull @ rest
            below = pull[:, own:]
            gradient[at + own :] += rest[own:] * below.sum(0)[:, None] - below.T @ here
        # k' = -slope / (widths · widest)
        ctx.save_for_backward(gradient.mul_(-4 / (widths * widest)))
        return (value / widths).to(points.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outer, None, None, None
