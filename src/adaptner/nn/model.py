"""θ, φ and ω in one module: a shared encoder, a decoder per domain, an auxiliary head.

For learning, a batch of tasks is a pure function of a flat dictionary of stacked parameters, one
slice per task; the first part of a name is the group its gradient belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from adaptner.nn.batch import Batch
from adaptner.nn.crf import CRF, Limits
from adaptner.nn.domain_head import DomainHead
from adaptner.nn.encoder import RecurrentEncoder
from adaptner.types import LabelSet

Group = Literal["encoder", "decoder", "head"]  # θ, φ, ω
Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Losses:
    """What each task costs, (G,): ``total`` = label + λ aux (HGDA eq. 1); ``aux`` None without ω."""

    label: Tensor
    aux: Tensor | None
    total: Tensor


class TaggingModel(nn.Module):
    """``domains`` maps each decoder's domain to its labels; ``classifier`` adds ω."""

    def __init__(
        self,
        encoder: RecurrentEncoder,
        domains: Mapping[str, LabelSet],
        generator: Generator,
        classifier: bool = False,
        reversal: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.domains = tuple(domains)
        self.decoder = nn.ModuleList(
            CRF(encoder.width, labels, generator) for labels in domains.values()
        )
        self.head = (
            DomainHead(encoder.width, len(domains), generator, reversal) if classifier else None
        )

    def labels_of(self, domain: int) -> LabelSet:
        decoder = self.decoder[domain]
        assert isinstance(decoder, CRF)
        return decoder.labels

    def stacked(self, domains: Sequence[int]) -> Parameters:
        """The parameters of one task per entry of ``domains``: θ and ω repeated without a copy, each
        task's own φ, padded to the largest label set among them."""
        stacked = {
            name: p.detach().expand(len(domains), *p.shape[1:])
            for name, p in self.named_parameters()
            if group_of(name) != "decoder"
        }
        own = [dict(self.decoder[d].named_parameters()) for d in domains]
        for name in own[0]:
            parts = [parameters[name].detach() for parameters in own]
            shape = [max(sizes) for sizes in zip(*(p.shape for p in parts), strict=True)]
            stacked[f"decoder.{name}"] = torch.cat([_padded(p, shape) for p in parts])
        return stacked

    def add_gradients(
        self, domains: Sequence[int], gradients: Parameters, weights: Mapping[Group, Tensor]
    ) -> None:
        """Add the weighted sum of the tasks' gradients (stacked as above) to ``.grad``.

        A decoder whose domain is absent keeps ``.grad`` None, so the optimiser leaves it alone."""
        mine = dict(self.named_parameters())
        for name, gradient in gradients.items():
            group = group_of(name)
            if group != "decoder":
                weighted = torch.tensordot(weights[group], gradient, 1)[None]
                _accumulate(mine[name], weighted)
                continue
            for task, domain in enumerate(domains):
                target = mine[f"decoder.{domain}.{name.removeprefix('decoder.')}"]
                inner = tuple(slice(0, size) for size in target.shape[1:])
                _accumulate(target, weights[group][task] * gradient[task][inner][None])

    def losses(
        self,
        parameters: Parameters,
        batch: Batch,
        domains: Sequence[int],
        *,
        aux_weight: float = 1.0,
        per_token: bool = False,
        noise: Generator | None = None,
    ) -> Losses:
        """HGDA eq. 1 for every task, as a pure function of ``parameters``."""
        assert batch.tags is not None
        parts: dict[str, Parameters] = {"encoder": {}, "decoder": {}, "head": {}}
        for name, p in parameters.items():
            group, _, rest = name.partition(".")
            parts[group][rest] = p
        states = functional_call(self.encoder, parts["encoder"], (batch, noise))
        limits = Limits([self.labels_of(d) for d in domains])
        negative = functional_call(
            self.decoder[domains[0]], parts["decoder"], (states, batch.tags, batch.mask, limits)
        )
        label = negative.sum(1) / batch.mask.sum((1, 2)) if per_token else negative.mean(1)
        if self.head is None:
            return Losses(label, None, label)
        aux = functional_call(
            self.head, parts["head"], (states, batch.mask, torch.tensor(list(domains)))
        )
        return Losses(label, aux, label + aux_weight * aux)


def group_of(name: str) -> Group:
    group = name.partition(".")[0]
    assert group in ("encoder", "decoder", "head"), name
    return group  # type: ignore[return-value]


def _padded(values: Tensor, shape: Sequence[int]) -> Tensor:
    missing = [(0, want - have) for have, want in zip(values.shape, shape, strict=True)]
    return F.pad(values, [n for pair in reversed(missing) for n in pair])


def _accumulate(parameter: nn.Parameter, gradient: Tensor) -> None:
    parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
