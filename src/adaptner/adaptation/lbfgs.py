"""L-BFGS for a smooth convex function of few parameters (Nocedal and Wright 2006, 7.4 and 3.1).

torch has one, but making any of its optimisers imports its compiler, which takes longer than the fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

REMEMBERED = 10  # pairs of steps and changes of the gradient
_ENOUGH = 1e-4  # of the decrease that the slope promises (Armijo)
_SHORTEST = 1e-10  # of a step; below it nothing is gained any more

Function = Callable[[Tensor], tuple[float, Tensor]]


def minimise(
    function: Function, start: Tensor, steps: int, tolerance: float = 1e-4
) -> tuple[Tensor, int]:
    """Where ``function`` (a point to its value and gradient) is least, and the steps it took: at most
    ``steps``, fewer where one gains less than ``tolerance`` of the value."""
    point = start
    value, slope = function(point)
    memory: deque[tuple[Tensor, Tensor]] = deque(maxlen=REMEMBERED)
    for step in range(steps):
        way = -_scaled(slope, memory)
        promised = float(slope @ way)
        if promised >= 0:
            return point, step
        # the very first step knows nothing of the curvature
        length = 1.0 if memory else min(1.0, 1.0 / float(slope.norm()))
        while True:
            after = point + length * way
            new_value, new_slope = function(after)
            if new_value <= value + _ENOUGH * length * promised:
                break
            length /= 2
            if length < _SHORTEST:
                return point, step
        moved, changed = after - point, new_slope - slope
        if float(moved @ changed) > 0:  # always, but for rounding, where the function is convex
            memory.append((moved, changed))
        gained = value - new_value
        point, value, slope = after, new_value, new_slope
        if gained <= tolerance * abs(value):
            return point, step + 1
    return point, steps


def _scaled(slope: Tensor, memory: deque[tuple[Tensor, Tensor]]) -> Tensor:
    """The inverse Hessian, as far as ``memory`` knows it, times ``slope``: two loops over the memory."""
    way = slope.clone()
    shares = []
    for moved, changed in reversed(memory):
        share = (moved @ way) / (moved @ changed)
        way = way - share * changed
        shares.append(share)
    if memory:
        moved, changed = memory[-1]
        way = way * ((moved @ changed) / (changed @ changed))
    for (moved, changed), share in zip(memory, reversed(shares), strict=True):
        way = way + moved * (share - (changed @ way) / (moved @ changed))
    return way


def flat(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([t.reshape(-1) for t in tensors])


def put(values: Tensor, into: Sequence[Tensor]) -> None:
    """The reverse of ``flat``, in place."""
    with torch.no_grad():
        parts = values.split([t.numel() for t in into])
        for t, part in zip(into, parts, strict=True):
            t.copy_(part.view_as(t))
