"""The inner loop: a few plain gradient steps on each task's support set (HGDA Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.nn.model import Losses, ParameterGroup, Parameters, group_of

LossFunction = Callable[[Parameters], Losses]


def group_gradients(
    losses: Losses, parameters: Parameters, *, apart: bool = False, keep_graph: bool = False
) -> Parameters:
    """Each group by its own loss: θ by the total, φ by labelling, ω by classification
    (Algorithm 2, lines 6 to 8; Algorithm 1, lines 10 to 12), every task at once.

    ``apart``: ``parameters`` are what an inner loop started from, so that φ reaches the
    classification loss too and must not be taken from the total. ``keep_graph``: the gradients
    will be differentiated in turn."""
    groups: dict[ParameterGroup, list[str]] = {"encoder": [], "decoder": [], "head": []}
    for name in parameters:
        groups[group_of(name)].append(name)
    wanted: list[tuple[Tensor, list[str]]]
    if losses.aux is None:
        wanted = [(losses.label, [*parameters])]
    elif apart:
        wanted = [
            (losses.aux, groups["head"]),
            (losses.label, groups["decoder"]),
            (losses.total, groups["encoder"]),
        ]
    else:
        # φ is not in the classification loss, so ∇φ total = ∇φ label: one pass serves both.
        wanted = [
            (losses.aux, groups["head"]),
            (losses.total, groups["encoder"] + groups["decoder"]),
        ]
    found: Parameters = {}
    for position, (loss, names) in enumerate(wanted):
        gradients = torch.autograd.grad(
            loss.sum(),
            [parameters[n] for n in names],
            create_graph=keep_graph,
            retain_graph=keep_graph or position + 1 < len(wanted),
        )
        found.update(zip(names, gradients, strict=True))
    return found


@dataclass(frozen=True)
class InnerLoop:
    """``steps`` of plain gradient descent at ``rate``, from the shared start."""

    steps: int
    rate: float

    def adapt(
        self,
        support: LossFunction,
        start: Parameters,
        *,
        through: bool = False,
        proximal: float = 0.0,
    ) -> Parameters:
        """θ_i, φ_i, ω_i for every task. ``through`` keeps the graph back to ``start``; ``proximal``
        adds (proximal / 2) |θ' - θ|², the inner problem of the implicit gradient."""
        current = start
        for _ in range(self.steps):
            if not through:
                current = {n: p.detach().requires_grad_() for n, p in current.items()}
            gradients = group_gradients(support(current), current, keep_graph=through)
            if proximal:
                gradients = {
                    n: g + proximal * (current[n] - start[n]) for n, g in gradients.items()
                }
            current = {n: torch.sub(p, gradients[n], alpha=self.rate) for n, p in current.items()}
        return current
