"""The gradient of the query losses with respect to the start of the inner loop.

``first``: the gradient at the adapted parameters (Nichol et al. 2018). ``second``: the exact gradient,
through the inner steps. ``implicit``: from the fixed point of the inner problem (Rajeswaran et al. 2019).
All compute the tasks of a batch at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from adaptner.bilevel.inner import InnerLoop, LossFunction, group_gradients, leaves
from adaptner.nn.model import Losses, Parameters, group_of


class OuterGradient(Protocol):
    def __call__(
        self, inner: InnerLoop, support: LossFunction, query: LossFunction, start: Parameters
    ) -> tuple[Losses, Parameters]:
        """Query losses and, for each task, their gradient with respect to ``start``; both detached."""
        ...


@dataclass(frozen=True)
class FirstOrder:
    def __call__(
        self, inner: InnerLoop, support: LossFunction, query: LossFunction, start: Parameters
    ) -> tuple[Losses, Parameters]:
        adapted = leaves(inner.adapt(support, start))
        losses = query(adapted)
        return losses.detached(), group_gradients(losses, adapted)


@dataclass(frozen=True)
class SecondOrder:
    def __call__(
        self, inner: InnerLoop, support: LossFunction, query: LossFunction, start: Parameters
    ) -> tuple[Losses, Parameters]:
        start = leaves(start)
        losses = query(inner.adapt(support, start, through=True))
        return losses.detached(), group_gradients(losses, start, apart=True)


@dataclass(frozen=True)
class Implicit:
    """The inner problem is min over θ' of L_support(θ') + (strength / 2) |θ' - θ|².

    At its solution, the outer gradient is (I + H / strength)^-1 ∇L_query(θ'), where H is the Hessian of
    the support loss. Conjugate gradients with Hessian-vector products compute it without a graph
    through the inner steps. H is that of the total loss of eq. 1, which all groups descend on if λ = 1."""

    strength: float = 1.0
    iterations: int = 5
    tolerance: float = 1e-10  # of the squared residual relative to the right-hand side

    def __call__(
        self, inner: InnerLoop, support: LossFunction, query: LossFunction, start: Parameters
    ) -> tuple[Losses, Parameters]:
        adapted = leaves(inner.adapt(support, start, proximal=self.strength))
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

        gradients: Parameters = {}
        by_group = {"encoder": losses.total, "decoder": losses.label, "head": losses.aux}
        for group, loss in by_group.items():
            members = [i for i, n in enumerate(names) if group_of(n) == group]
            if loss is None or not members:
                continue
            partial = torch.autograd.grad(loss.sum(), points, retain_graph=True, allow_unused=True)
            target = [
                torch.zeros_like(p) if g is None else g
                for g, p in zip(partial, points, strict=True)
            ]
            solved = conjugate_gradient(product, target, self.iterations, self.tolerance)
            gradients.update({names[i]: solved[i] for i in members})
        return losses.detached(), gradients


def conjugate_gradient(
    product: Callable[[list[Tensor]], list[Tensor]],
    target: list[Tensor],
    iterations: int,
    tolerance: float,
) -> list[Tensor]:
    """Solve ``product(x) = target`` for each task (the leading dimension); a converged task no longer
    changes."""
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


OUTER_GRADIENTS: dict[str, type[FirstOrder] | type[SecondOrder] | type[Implicit]] = {
    "first": FirstOrder,
    "second": SecondOrder,
    "implicit": Implicit,
}
