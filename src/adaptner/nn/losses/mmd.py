"""Maximum mean discrepancy between two samples of states (PDALN eqs 3 to 6).

The kernel is a mean of Gaussians whose widths double from one to the next (Long et al. 2015), so that one
exponential and repeated squaring compute them all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from adaptner.compute import ready_for_double

WIDTHS = 5
_BLOCK = 256  # points that are compared with all others at once
_CHUNK = 65536  # pairs whose powers are computed at once, so that they fit the processor's cache


def maximum_mean_discrepancy(
    first: Tensor, second: Tensor, widths: int = WIDTHS, middle: float | None = None
) -> Tensor:
    """Eq. 4, the squared discrepancy of (N, d) and (M, d): between 0 and 2, and 0 for equal samples.

    k(a, b) is the mean over u of exp(-|a - b|^2 / (middle 2^(u - widths // 2))). ``middle`` is by default
    the mean squared distance of all pairs and is not differentiated."""
    both = torch.cat([first, second])
    # Centring changes no distance, but reduces rounding errors.
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

    ``first`` (N, d) are token states and ``first_tags`` (N,) their tag ids, which mean the same tags on
    both sides."""
    total = first.new_zeros(())
    shared = sorted(set(first_tags.tolist()) & set(second_tags.tolist()))
    if shared:
        sides = (_by_tag(first, first_tags, shared), _by_tag(second, second_tags, shared))
        for a, b in zip(*sides, strict=True):
            total = total + maximum_mean_discrepancy(a, b, widths)
    return weight * total


def _by_tag(states: Tensor, tags: Tensor, selected: list[int]) -> tuple[Tensor, ...]:
    """The states of each selected tag; one gather and a split, since each gather is costly to
    differentiate."""
    places = [(tags == tag).nonzero()[:, 0] for tag in selected]
    return states.index_select(0, torch.cat(places)).split([len(rows) for rows in places])


def _mean_distance(centred: Tensor) -> float:
    """Mean of |a - b|² over all pairs of different points, for points with mean zero."""
    (squares,) = ready_for_double(centred.square())
    total = float(squares.sum(dtype=torch.float64))
    return 2 * total / (len(centred) - 1) or 1.0  # all points equal: any width gives 0


class _QuadraticForm(torch.autograd.Function):
    """Σ_ij c_i c_j k(z_i, z_j).

    The gradient with respect to z_i, Σ_j 4 c_i c_j k'(d_ij) (z_i - z_j), is computed together with the
    value, block by block and for one of two symmetric halves, so that no matrix of all pairs is kept.
    Nearly all work is matrix products: norms are two extra columns of the points, and signs are part
    of the matrices that a block is multiplied with."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, signs: Tensor, widths: int, middle: float) -> Tensor:
        needs_gradient = ctx.needs_input_grad[0]
        widest = middle * 2.0 ** (widths - 1 - widths // 2)
        scaled = points * (2 / widest) ** 0.5
        halves, ones = scaled.square().sum(1, keepdim=True) / -2, scaled.new_ones(len(points), 1)
        # left_i · right_j = -|z_i - z_j|² / widest
        left, right = torch.cat([scaled, halves, ones], 1), torch.cat([scaled, ones, halves], 1)
        signed = points * signs[:, None]
        means, weights = torch.zeros_like(signs), torch.zeros_like(signs)
        pulls = torch.zeros_like(points)
        memory = points.new_empty(min(_BLOCK, len(points)) * len(points))  # reused by every block
        for at in range(0, len(points), _BLOCK):
            here, rest = slice(at, at + _BLOCK), slice(at, None)
            size, others = len(left[here]), len(points) - at
            block = memory[: size * others].view(size, others)
            torch.mm(left[here], right[rest].T, out=block).exp_()
            factors = 2 * signs[rest]  # counts the symmetric pair as well
            factors[:size] = signs[here]
            for rows, sums in zip(*(_by_rows(x, block) for x in (block, means[here])), strict=True):
                _add_powers(rows, sums, factors, widths)
            if not needs_gradient:
                continue
            # the block is now Σ_u 2^u power_u, and pulls_i is Σ_j c_j block_ij z_j
            pulls[here].addmm_(block, signed[rest])
            weights[here].addmv_(block, signs[rest])
            if size < others:
                pulls[at + size :].addmm_(block[:, size:].T, signed[here])
                weights[at + size :].addmv_(block[:, size:].T, signs[here])
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


def _add_powers(rows: Tensor, sums: Tensor, factors: Tensor, widths: int) -> None:
    """For p = ``rows``, add the products of p, p², p⁴, ... with ``factors`` to ``sums``, and replace
    ``rows`` by p + 2p² + 4p⁴ + ..."""
    sums.addmv_(rows, factors)
    power = rows
    for doubling in range(1, widths):
        power = power.square() if power is rows else power.square_()
        sums.addmv_(power, factors)
        rows.add_(power, alpha=2.0**doubling)
