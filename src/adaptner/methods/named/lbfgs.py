"""L-BFGS for smooth convex functions of few parameters (Nocedal and Wright 2006, 7.4 and 3.1).

Making any of torch's optimisers imports torch's compiler, which takes longer than the whole fit. This
one also minimises several functions side by side, each row of a matrix being the point of one: the
folds of a cross-validation share the work of a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

HISTORY = 10  # pairs of steps and gradient changes
_SUFFICIENT_DECREASE = 1e-4  # share of the decrease that the slope predicts (Armijo)
_MIN_STEP_LENGTH = 1e-10  # below it, rounding prevents any further decrease

Functions = Callable[[Tensor], tuple[Tensor, Tensor]]


def minimise(
    functions: Functions, start: Tensor, max_steps: int, tolerance: float = 1e-4
) -> tuple[Tensor, int]:
    """The minima of K functions, (K, parameters), and the number of steps. A function is done once a
    step decreases it by less than ``tolerance`` of its value. ``functions`` maps points
    (K, parameters) to values (K,) and gradients (K, parameters); rows must not depend on each
    other."""
    points = start
    values, gradients = functions(points)
    history: deque[tuple[Tensor, Tensor]] = deque(maxlen=HISTORY)
    active = torch.ones(len(points), dtype=torch.bool, device=points.device)
    for step in range(max_steps):
        directions = -_times_inverse_hessian(gradients, history)
        slopes = _dot(gradients, directions)
        active = active & (slopes < 0)
        if not active.any():
            return points, step
        # The curvature is unknown at the first step.
        first = (1 / gradients.norm(dim=1)).clamp(max=1)
        lengths = (torch.ones_like(first) if history else first) * active
        while True:
            new_points = points + lengths[:, None] * directions
            new_values, new_gradients = functions(new_points)
            too_long = new_values > values + _SUFFICIENT_DECREASE * lengths * slopes
            if not (too_long & active).any():
                break
            lengths = torch.where(too_long, lengths / 2, lengths)
            active = active & (lengths >= _MIN_STEP_LENGTH)
            lengths = lengths * active
        history.append((new_points - points, new_gradients - gradients))
        decrease = values - new_values
        points, values, gradients = new_points, new_values, new_gradients
        active = active & (decrease > tolerance * values.abs())
        if not active.any():
            return points, step + 1
    return points, max_steps


def _times_inverse_hessian(gradients: Tensor, history: deque[tuple[Tensor, Tensor]]) -> Tensor:
    """The inverse Hessians, approximated from ``history``, times ``gradients``: the two-loop
    recursion.

    A row skips a pair in which it did not move, or moved against the curvature by rounding."""
    result = gradients.clone()
    pairs = []
    for moved, changed in history:
        curvature = _dot(moved, changed)
        usable = curvature > 0
        pairs.append((moved, changed, usable / torch.where(usable, curvature, 1.0)))
    shares = []
    for moved, changed, inverse in reversed(pairs):
        shares.append(_dot(moved, result) * inverse)
        result = result - shares[-1][:, None] * changed
    scale = gradients.new_ones(len(gradients))
    for _, changed, inverse in pairs:  # ends with the last usable pair
        latest = 1 / (inverse * _dot(changed, changed)).clamp(min=1e-30)
        scale = torch.where(inverse > 0, latest, scale)
    result = result * scale[:, None]
    for (moved, changed, inverse), share in zip(pairs, reversed(shares), strict=True):
        result = result + moved * (share - _dot(changed, result) * inverse)[:, None]
    return result


def _dot(first: Tensor, second: Tensor) -> Tensor:
    return (first * second).sum(1)


def parameters_to_rows(tensors: Sequence[Tensor]) -> Tensor:
    """The parameters of K tasks as a matrix with one row per task."""
    return torch.cat([t.flatten(1) for t in tensors], 1)


def rows_to_parameters(rows: Tensor, into: Sequence[Tensor]) -> None:
    """The inverse of `parameters_to_rows`, in place."""
    with torch.no_grad():
        parts = rows.split([t[0].numel() for t in into], 1)
        for t, part in zip(into, parts, strict=True):
            t.copy_(part.view_as(t))
