"""L-BFGS for smooth convex functions of few parameters (Nocedal and Wright 2006, 7.4 and 3.1).

torch has one, but making any of its optimisers imports its compiler, which takes longer than the fit.
Ours also takes several functions side by side, each row of a matrix the point of one: the folds of
cross-validation differ in what they leave out, and share the work of a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

REMEMBERED = 10  # pairs of steps and changes of the gradient
_ENOUGH = 1e-4  # of the decrease that the slope promises (Armijo)
_SHORTEST = 1e-10  # of a step; below it nothing is gained any more

Functions = Callable[[Tensor], tuple[Tensor, Tensor]]


def minimise(
    functions: Functions, start: Tensor, steps: int, tolerance: float = 1e-4
) -> tuple[Tensor, int]:
    """Where each of K functions is least, (K, P), and the steps that took: at most ``steps``, fewer
    where each gains less than ``tolerance`` of its value. ``functions`` maps points (K, P) to values
    (K,) and gradients (K, P); no row may depend on another."""
    points = start
    values, slopes = functions(points)
    memory: deque[tuple[Tensor, Tensor]] = deque(maxlen=REMEMBERED)
    going = torch.ones(len(points), dtype=torch.bool)
    for step in range(steps):
        ways = -_scaled(slopes, memory)
        promised = _dot(slopes, ways)
        going = going & (promised < 0)
        if not going.any():
            return points, step
        # the very first step knows nothing of the curvature
        first = (1 / slopes.norm(dim=1)).clamp(max=1)
        lengths = (torch.ones_like(first) if memory else first) * going
        while True:
            after = points + lengths[:, None] * ways
            new_values, new_slopes = functions(after)
            short = new_values > values + _ENOUGH * lengths * promised
            if not (short & going).any():
                break
            lengths = torch.where(short, lengths / 2, lengths)
            going = going & (lengths >= _SHORTEST)
            lengths = lengths * going
        memory.append((after - points, new_slopes - slopes))
        gained = values - new_values
        points, values, slopes = after, new_values, new_slopes
        going = going & (gained > tolerance * values.abs())
        if not going.any():
            return points, step + 1
    return points, steps


def _scaled(slopes: Tensor, memory: deque[tuple[Tensor, Tensor]]) -> Tensor:
    """The inverse Hessians, as far as ``memory`` knows them, times ``slopes``: two loops over it.

    A row that did not move, or against its curvature (by rounding: the functions are convex), passes
    a pair over."""
    ways = slopes.clone()
    pairs = []
    for moved, changed in memory:
        curvature = _dot(moved, changed)
        usable = curvature > 0
        pairs.append((moved, changed, usable / torch.where(usable, curvature, 1.0)))
    shares = []
    for moved, changed, inverse in reversed(pairs):
        shares.append(_dot(moved, ways) * inverse)
        ways = ways - shares[-1][:, None] * changed
    scale = torch.ones(len(slopes), dtype=slopes.dtype)
    for _, changed, inverse in pairs:  # the last usable pair's
        latest = 1 / (inverse * _dot(changed, changed)).clamp(min=1e-30)
        scale = torch.where(inverse > 0, latest, scale)
    ways = ways * scale[:, None]
    for (moved, changed, inverse), share in zip(pairs, reversed(shares), strict=True):
        ways = ways + moved * (share - _dot(changed, ways) * inverse)[:, None]
    return ways


def _dot(first: Tensor, second: Tensor) -> Tensor:
    return (first * second).sum(1)


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """Parameters of K tasks as the rows of a matrix."""
    return torch.cat([t.flatten(1) for t in tensors], 1)


def put(rows: Tensor, into: Sequence[Tensor]) -> None:
    """The reverse of ``flat``, in place."""
    with torch.no_grad():
        parts = rows.split([t[0].numel() for t in into], 1)
        for t, part in zip(into, parts, strict=True):
            t.copy_(part.view_as(t))
