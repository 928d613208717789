"""MetaNER's bilevel step (paper 002, Algorithm 1, lines 5 to 22, without the update).

Unlike in MAML, the inner steps run over tasks of the meta-training domains, and the outer loss is that of
a task of the meta-validation domain. G such chains run at once.

The loss functions include the gradient reversal, so the encoder *descends* on λ L_dis: eq. 20's minus
would reverse the gradient a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.bilevel.inner import LossFunction, leaves
from adaptner.nn.model import Losses, Parameters


@dataclass(frozen=True)
class DomainBatch:
    """One task per chain: its losses as a function of all parameters, and its own decoder and head."""

    objective: LossFunction
    fixed: Parameters


@dataclass(frozen=True)
class DomainSplitStep:
    """Meta-validation losses (G,), and the stacked gradients for the encoder (eq. 20), decoder (21) and
    discriminator (22)."""

    losses: Losses
    gradients: Parameters


@dataclass(frozen=True)
class DomainSplit:
    """The step with rate α (``rate``) and λ (``aux_weight``).

    The paper's ablations: ``new_only`` uses θ(new) where eq. 19 has θ(old); ``maml`` takes the encoder's
    gradient from the meta-validation loss instead of eq. 20."""

    rate: float
    aux_weight: float
    new_only: bool = False
    maml: bool = False

    def __call__(
        self, training: Sequence[DomainBatch], validation: DomainBatch, encoder: Parameters
    ) -> DomainSplitStep:
        old = new = encoder
        outer = {n: torch.zeros_like(p) for n, p in encoder.items()}
        for task in training:
            # Eqs 17 and 18; both gradients are taken at θ(i-1), the θ(new) of the previous step.
            start = leaves(new)
            losses = task.objective({**start, **task.fixed})
            label = _gradient(losses.label, start, retain=losses.aux is not None)
            old = {n: p.detach() - self.rate * label[n] for n, p in start.items()}
            new, gradient = old, label
            if losses.aux is not None:
                dis = _gradient(losses.aux, start)
                gradient = {n: label[n] + self.aux_weight * dis[n] for n in start}
                new = {n: old[n] - self.rate * self.aux_weight * dis[n] for n in start}
            # Eq. 20, first order: the sum of the meta-training gradients.
            outer = {n: outer[n] + gradient[n] for n in outer}
        return self._validated(validation, new if self.new_only else old, new, outer)

    def _validated(
        self, task: DomainBatch, for_label: Parameters, for_aux: Parameters, outer: Parameters
    ) -> DomainSplitStep:
        """Eq. 19 and its first-order gradients: the decoder's from the labelling loss, the head's from the
        discriminator's."""
        fixed = leaves(task.fixed)
        decoder = {n: p for n, p in fixed.items() if n.startswith("decoder.")}
        head = {n: p for n, p in fixed.items() if n.startswith("head.")}
        at = leaves(for_label)
        losses = task.objective({**at, **fixed})
        points = {**decoder, **at} if self.maml else decoder
        computed = _gradient(losses.label, points, retain=for_aux is for_label)
        label, aux = losses.label.detach(), None
        if losses.aux is not None:
            if for_aux is not for_label:
                at = leaves(for_aux)
                losses = task.objective({**at, **fixed})
            assert losses.aux is not None
            dis = _gradient(losses.aux, {**head, **at} if self.maml else head)
            aux = losses.aux.detach()
            computed |= {n: computed[n] + g if n in computed else g for n, g in dis.items()}
        gradients = {n: computed[n] for n in fixed}
        encoder = computed if self.maml else outer
        gradients |= {n: encoder[n] for n in outer}
        return DomainSplitStep(Losses(label, aux, label if aux is None else label + aux), gradients)


def _gradient(losses: Tensor, parameters: Parameters, retain: bool = False) -> Parameters:
    """The gradient of each chain; zero for parameters that the loss does not depend on."""
    gradients = torch.autograd.grad(
        losses.sum(),
        list(parameters.values()),
        retain_graph=retain,
        materialize_grads=True,
        allow_unused=True,
    )
    return dict(zip(parameters, gradients, strict=True))
