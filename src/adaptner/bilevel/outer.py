"""The gradient of the query losses by the parameters the inner loop started from.

``first``: taken at the adapted parameters (Nichol et al. 2018). ``second``: exact, through the inner
steps. ``implicit``: from the inner problem's fixed point (Rajeswaran et al. 2019). All treat the
tasks of a batch side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from adaptner.bilevel.inner import InnerLoop, LossFunction, group_gradients
from adaptner.nn.model import Losses, Parameters, group_of


class OuterGradient(Protocol):
    def __call__(
        self, inner: InnerLoop, support: LossFunction, query: LossFunction, start: Parameters
    ) -> tuple[Losses, Parameters]:
        """Query losses and, per task, their gradient by ``start``; both detached."""
        ...


@dataclass(frozen=True)
class FirstOrder:
    def __call__(
        self, inner: InnerLoop, support: LossFunction, query: LossFunction, start: Parameters
    ) -> tuple[Losses, Parameters]:
        adapted = _leaves(inner.adapt(support, start))
        losses = query(adapted)
        return losses.detached(), group_gradients(losses, adapted)


@dataclass(frozen=True)
class SecondOrder:
    def __call__(
        self, inner: InnerLoop, support: LossFunction, query: LossFunction, start: Parameters
    ) -> tuple[Losses, Parameters]:
        start = _leaves(start)
        losses = query(inner.adapt(support, start, through=True))
        return losses.detached(), group_gradients(losses, start, apart=True)


@dataclass(frozen=True)
class Implicit:
    """Inner problem: min over θ' of L_support(θ') + (strength / 2) |θ' - θ|². At its solution the
    outer gradient is (I + H / strength)^-1 ∇L_query(θ'), H the Hessian of the support loss, solved
    by conjugate gradient with Hessian-vector products: no path through the inner steps is kept.

    H is that of the total loss of eq. 1, which is what all groups descend on when λ = 1."""

    strength: float = 1.0
    iterations: int = 5
    tolerance: float = 1e-10  # of the squared residual, relative to the right-hand side

    def __call__(
        self, inner: InnerLoop, support: LossFunction, query: LossFunction, start: Parameters
    ) -> tuple[Losses, Parameters]:
        adapted = _leaves(inner.adapt(support, start, proximal=self.strength))
        names, points = list(adapted), list(adapted.values())
        losses = query(adapted)
        descent = torch.autograd.grad(support(adapted).total.sum(), points, create_graph=True)

        def product(vectors: list[Tensor]) -> list[Tensor]:
            dot = sum((d * v).sum() for d, v in zip(descent, vectors, strict=True))
            curved = torch.autograd.grad(dot, points, retain_graph=True, allow_unused=True)  # type: ignore[arg-type]
            return [
                v if c is None else v + c / self.strength
                for v, c in zip(vectors, curved, strict=True)
            ]

        found: Parameters = {}
        by_group = {"encoder": losses.total, "decoder": losses.label, "head": losses.aux}
        for group, loss in by_group.items():
            mine = [i for i, n in enumerate(names) if group_of(n) == group]
            if loss is None or not mine:
                continue
            given = torch.autograd.grad(loss.sum(), points, retain_graph=True, allow_unused=True)
            target = [
                torch.zeros_like(p) if g is None else g for g, p in zip(given, points, strict=True)
            ]
            solved = conjugate_gradient(product, target, self.iterations, self.tolerance)
            found.update({names[i]: solved[i] for i in mine})
        return losses.detached(), found


def conjugate_gradient(
    product: Callable[[list[Tensor]], list[Tensor]],
    target: list[Tensor],
    iterations: int,
    tolerance: float,
) -> list[Tensor]:
    """Solve ``product(x) = target`` for each task (the leading dimension) on its own; a task that
    has converged stands still."""
    solution = [torch.zeros_like(t) for t in target]
    residual = [t.clone() for t in target]
    direction = [t.clone() for t in target]
    size = _dot(residual, residual)
    enough = tolerance * size
    for _ in range(iterations):
        if bool((size <= enough).all()):
            break
        image = product(direction)
        step = torch.where(size > enough, size / _dot(direction, image), 0.0)
        solution = [x + _times(step, d) for x, d in zip(solution, direction, strict=True)]
        residual = [r - _times(step, i) for r, i in zip(residual, image, strict=True)]
        smaller = _dot(residual, residual)
        turn = torch.where(size > enough, smaller / size, 0.0)
        direction = [r + _times(turn, d) for r, d in zip(residual, direction, strict=True)]
        size = smaller
    return solution


def _dot(left: list[Tensor], right: list[Tensor]) -> Tensor:
    """(G,) inner products, task by task."""
    return torch.stack([(a * b).flatten(1).sum(1) for a, b in zip(left, right, strict=True)]).sum(0)


def _times(factor: Tensor, values: Tensor) -> Tensor:
    return factor.view(-1, *[1] * (values.dim() - 1)) * values


def _leaves(parameters: Parameters) -> Parameters:
    return {n: p.detach().requires_grad_() for n, p in parameters.items()}


OUTER_GRADIENTS: dict[str, type[FirstOrder] | type[SecondOrder] | type[Implicit]] = {
    "first": FirstOrder,
    "second": SecondOrder,
    "implicit": Implicit,
}
