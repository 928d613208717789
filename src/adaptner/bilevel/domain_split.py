"""MetaNER's bilevel step (paper 002, Algorithm 1, lines 5 to 22, less the update).

Not an inner loop on one task's support: the inner steps run over tasks of the meta-training domains,
the outer loss is that of a task of the meta-validation domain. G such chains run side by side.

Every objective has the gradient reversal in its graph, so θ *descends* on λ L_dis (ruling: never
both the reversal and eq. 20's minus).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.bilevel.inner import LossFunction
from adaptner.nn.model import Losses, Parameters


@dataclass(frozen=True)
class DomainBatch:
    """A task of each chain: its losses as a function of all parameters, and its own φ and γ."""

    objective: LossFunction
    fixed: Parameters


@dataclass(frozen=True)
class DomainSplitStep:
    """Meta-validation losses (G,) and, stacked, the gradients of θ0 (eq. 20), φ0 (21), γ0 (22)."""

    losses: Losses
    gradients: Parameters


@dataclass(frozen=True)
class DomainSplit:
    """``rate`` α, ``aux_weight`` λ. ``new_only``: θ(new) where eq. 19 has θ(old). ``maml``: θ0 by the
    meta-validation loss instead of eq. 20. Both are ablations of the paper."""

    rate: float
    aux_weight: float
    new_only: bool = False
    maml: bool = False

    def __call__(
        self, training: Sequence[DomainBatch], validation: DomainBatch, theta: Parameters
    ) -> DomainSplitStep:
        old = new = theta
        outer = {n: torch.zeros_like(p) for n, p in theta.items()}
        for task in training:
            # Eqs 17 and 18; both gradients are taken at θ(i-1), which is the last step's θ(new).
            start = _leaves(new)
            losses = task.objective({**start, **task.fixed})
            label = _gradient(losses.label, start, retain=losses.aux is not None)
            old = {n: p.detach() - self.rate * label[n] for n, p in start.items()}
            new, pull = old, label
            if losses.aux is not None:
                dis = _gradient(losses.aux, start)
                pull = {n: label[n] + self.aux_weight * dis[n] for n in start}
                new = {n: old[n] - self.rate * self.aux_weight * dis[n] for n in start}
            # Eq. 20, first order: the meta-training gradients where they were taken.
            outer = {n: outer[n] + pull[n] for n in outer}
        return self._validated(validation, new if self.new_only else old, new, outer)

    def _validated(
        self, task: DomainBatch, for_label: Parameters, for_aux: Parameters, outer: Parameters
    ) -> DomainSplitStep:
        """Eq. 19 and its gradients, first order: φ0 by the labelling part, γ0 by the other."""
        fixed = _leaves(task.fixed)
        decoder = {n: p for n, p in fixed.items() if n.startswith("decoder.")}
        head = {n: p for n, p in fixed.items() if n.startswith("head.")}
        at = _leaves(for_label)
        losses = task.objective({**at, **fixed})
        wanted = {**decoder, **at} if self.maml else decoder
        found = _gradient(losses.label, wanted, retain=for_aux is for_label)
        label, aux = losses.label.detach(), None
        if losses.aux is not None:
            if for_aux is not for_label:
                at = _leaves(for_aux)
                losses = task.objective({**at, **fixed})
            assert losses.aux is not None
            dis = _gradient(losses.aux, {**head, **at} if self.maml else head)
            aux = losses.aux.detach()
            found |= {n: found[n] + g if n in found else g for n, g in dis.items()}
        gradients = {n: found[n] for n in fixed}
        theta = found if self.maml else outer
        gradients |= {n: theta[n] for n in outer}
        return DomainSplitStep(Losses(label, aux, label if aux is None else label + aux), gradients)


def _gradient(losses: Tensor, parameters: Parameters, retain: bool = False) -> Parameters:
    """Each chain's own gradient; a parameter the loss does not reach (a word nobody read) has zero."""
    found = torch.autograd.grad(
        losses.sum(),
        list(parameters.values()),
        retain_graph=retain,
        materialize_grads=True,
        allow_unused=True,
    )
    return dict(zip(parameters, found, strict=True))


def _leaves(parameters: Parameters) -> Parameters:
    return {n: p.detach().requires_grad_() for n, p in parameters.items()}
