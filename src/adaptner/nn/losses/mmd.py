"""Maximum mean discrepancy (PDALN eqs 3 to 6): how far apart two samples of states are.

The kernel is a mean of Gaussians whose widths go up by factors of two (Long et al. 2015), so that one
exponential and repeated squaring give them all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from adaptner.compute import ready_for_double

WIDTHS = 5
_BLOCK = 256  # points at a time, against all others
_CHUNK = 65536  # pairs of which powers are taken at a time: they stay in the processor's cache


def maximum_mean_discrepancy(
    first: Tensor, second: Tensor, widths: int = WIDTHS, middle: float | None = None
) -> Tensor:
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
    shared = sorted(set(first_tags.tolist()) & set(second_tags.tolist()))
    if shared:
        sides = (_by_tag(first, first_tags, shared), _by_tag(second, second_tags, shared))
        for ours, theirs in zip(*sides, strict=True):
            total = total + maximum_mean_discrepancy(ours, theirs, widths)
    return weight * total


def _by_tag(states: Tensor, tags: Tensor, wanted: list[int]) -> tuple[Tensor, ...]:
    """The states of each wanted tag, gathered at once: gathering is costly to differentiate, splitting
    is not."""
    places = [(tags == tag).nonzero()[:, 0] for tag in wanted]
    return states.index_select(0, torch.cat(places)).split([len(own) for own in places])


def _mean_distance(centred: Tensor) -> float:
    """Mean of |a - b|² over all pairs of different points; their sum is zero."""
    (squares,) = ready_for_double(centred.square())
    total = float(squares.sum(dtype=torch.float64))
    return 2 * total / (len(centred) - 1) or 1.0  # all alike: any width gives 0


class _QuadraticForm(torch.autograd.Function):
    """Σ_ij c_i c_j k(z_i, z_j). The gradient, Σ_j 4 c_i c_j k'(d_ij) (z_i - z_j) by each z_i, comes
    with the value, block by block: no matrix of all pairs is ever kept, and of two symmetric parts
    one is computed. What is no product of matrices is kept small: norms are two more columns of the
    points, signs stand in what a block is multiplied with, and powers are taken of a few rows at a time."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, signs: Tensor, widths: int, middle: float) -> Tensor:
        wanted = ctx.needs_input_grad[0]
        widest = middle * 2.0 ** (widths - 1 - widths // 2)
        scaled = points * (2 / widest) ** 0.5
        halves, ones = scaled.square().sum(1, keepdim=True) / -2, scaled.new_ones(len(points), 1)
        # left_i · right_j = -|z_i - z_j|² / widest
        left, right = torch.cat([scaled, halves, ones], 1), torch.cat([scaled, ones, halves], 1)
        signed = points * signs[:, None]
        means, weights = torch.zeros_like(signs), torch.zeros_like(signs)
        pulls = torch.zeros_like(points)
        memory = points.new_empty(min(_BLOCK, len(points)) * len(points))  # warm for every block
        for at in range(0, len(points), _BLOCK):
            here, rest = slice(at, at + _BLOCK), slice(at, None)
            own, others = len(left[here]), len(points) - at
            block = memory[: own * others].view(own, others)
            torch.mm(left[here], right[rest].T, out=block).exp_()
            counted = 2 * signs[rest]  # each stands for its mirror image too
            counted[:own] = signs[here]
            for rows, sums in zip(*(_by_rows(x, block) for x in (block, means[here])), strict=True):
                _add_powers(rows, sums, counted, widths)
            if not wanted:
                continue
            # the block is Σ_u 2^u power_u by now, and pulls are Σ_j c_j block_ij z_j
            pulls[here].addmm_(block, signed[rest])
            weights[here].addmv_(block, signs[rest])
            if own < others:
                pulls[at + own :].addmm_(block[:, own:].T, signed[here])
                weights[at + own :].addmv_(block[:, own:].T, signs[here])
        totals, weighted = ready_for_double(means, signs)
        value = totals.double() @ weighted.double()
        # k' = -block / (widths · widest)
        gradient = (points * weights[:, None]).sub_(pulls)
        ctx.save_for_backward(gradient.mul_(signs[:, None] * (-4 / (widths * widest))))
        return (value / widths).to(points)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outer, None, None, None


def _by_rows(values: Tensor, block: Tensor) -> tuple[Tensor, ...]:
    return values.split(max(1, _CHUNK // block.shape[1]))


def _add_powers(rows: Tensor, sums: Tensor, counted: Tensor, widths: int) -> None:
    """To ``sums`` the products of ``counted`` with p, p², p⁴, ..., of ``rows`` p, which become
    p + 2p² + 4p⁴ + ..."""
    sums.addmv_(rows, counted)
    power = rows
    for doubling in range(1, widths):
        power = power.square() if power is rows else power.square_()
        sums.addmv_(power, counted)
        rows.add_(power, alpha=2.0**doubling)
