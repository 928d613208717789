"""The inner loop: a few gradient steps on the support set of each task (HGDA Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.nn.model import Losses, ParameterGroup, Parameters, group_of

LossFunction = Callable[[Parameters], Losses]


def leaves(parameters: Parameters) -> Parameters:
    """The parameters without their graph, as the start of a new one."""
    return {n: p.detach().requires_grad_() for n, p in parameters.items()}


def group_gradients(
    losses: Losses, parameters: Parameters, *, apart: bool = False, keep_graph: bool = False
) -> Parameters:
    """The gradient of each group by its own loss: encoder by the total, decoder by the labelling loss, head
    by the classification loss (Algorithm 2, lines 6 to 8; Algorithm 1, lines 10 to 12), for all tasks.

    ``apart``: compute the decoder's gradient from the labelling loss alone. This is needed if
    ``parameters`` are the start of an inner loop, since the classification loss then depends on the
    decoder. ``keep_graph``: the gradients will be differentiated."""
    groups: dict[ParameterGroup, list[str]] = {"encoder": [], "decoder": [], "head": []}
    for name in parameters:
        groups[group_of(name)].append(name)
    passes: list[tuple[Tensor, list[str]]]
    if losses.aux is None:
        passes = [(losses.label, [*parameters])]
    elif apart:
        passes = [
            (losses.aux, groups["head"]),
            (losses.label, groups["decoder"]),
            (losses.total, groups["encoder"]),
        ]
    else:
        # The classification loss does not depend on the decoder, so one pass computes both gradients.
        passes = [
            (losses.aux, groups["head"]),
            (losses.total, groups["encoder"] + groups["decoder"]),
        ]
    gradients: Parameters = {}
    for position, (loss, names) in enumerate(passes):
        computed = torch.autograd.grad(
            loss.sum(),
            [parameters[n] for n in names],
            create_graph=keep_graph,
            retain_graph=keep_graph or position + 1 < len(passes),
        )
        gradients.update(zip(names, computed, strict=True))
    return gradients


@dataclass(frozen=True)
class InnerLoop:
    """``steps`` of gradient descent at ``rate``, from the same start for all tasks."""

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
        """The adapted parameters of every task.

        ``through`` keeps the graph back to ``start``. ``proximal`` adds (proximal / 2) |θ' - θ|², as the
        inner problem of the implicit gradient requires."""
        current = start
        for _ in range(self.steps):
            if not through:
                current = leaves(current)
            gradients = group_gradients(support(current), current, keep_graph=through)
            if proximal:
                gradients = {
                    n: g + proximal * (current[n] - start[n]) for n, g in gradients.items()
                }
            current = {n: torch.sub(p, gradients[n], alpha=self.rate) for n, p in current.items()}
        return current
