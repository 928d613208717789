"""The tagging model: a shared encoder, one or more decoders and an optional auxiliary head.

For training, the losses of a batch of tasks are a pure function of a flat dictionary of stacked
parameters, one slice per task. The first part of a parameter's name is its group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import torch
from pydantic import BaseModel, ConfigDict
from torch import Generator, Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from adaptner.nn.batching.batch import Batch
from adaptner.nn.decoders.crf import CRF, TagConstraints
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.word_cache import WordCache
from adaptner.registry import load
from adaptner.types import LabelSet

if TYPE_CHECKING:
    from adaptner.nn.decoders.prototypes import PrototypeDecoder
    from adaptner.nn.decoders.softmax_tags import SoftmaxDecoder

ParameterGroup = Literal["encoder", "decoder", "head"]
Parameters = dict[str, Tensor]
TagDecoder: TypeAlias = "CRF | SoftmaxDecoder"  # with a trained row of weights for each tag
Decoder: TypeAlias = "TagDecoder | PrototypeDecoder"
# Imported only for models that have one.
_DECODERS = {
    "crf": "adaptner.nn.decoders.crf:CRF",
    "softmax": "adaptner.nn.decoders.softmax_tags:SoftmaxDecoder",
    "prototypes": "adaptner.nn.decoders.prototypes:PrototypeDecoder",
}
_HEADS = {
    "mean": "adaptner.nn.heads.domain_head:DomainClassifier",
    "attention": "adaptner.nn.heads.attention_head:AttentionDomainClassifier",
}


class ModelShape(BaseModel):
    """Decoder and auxiliary head of a model. ``shared``: one decoder over the labels of all domains
    (homogeneous setting) instead of one per domain."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    decoder: Literal["crf", "softmax", "prototypes"] = "crf"
    shared: bool = False
    head: Literal["none", "mean", "attention"] = "none"
    reversal: bool = False


@dataclass(frozen=True)
class Losses:
    """Losses (G,) of each task: total = label + λ aux (HGDA eq. 1); ``aux`` is None without a head."""

    label: Tensor
    aux: Tensor | None
    total: Tensor

    def detached(self) -> Losses:
        aux = None if self.aux is None else self.aux.detach()
        return Losses(self.label.detach(), aux, self.total.detach())


class TaggingModel(nn.Module):
    """A model on the device of its encoder.

    ``domains`` maps each domain to its labels. ``classes`` is the number of classes of the head, by
    default the number of domains."""

    def __init__(
        self,
        encoder: Encoder,
        domains: Mapping[str, LabelSet],
        generator: Generator,
        shape: ModelShape = ModelShape(),
        classes: int | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.shape = shape
        self.domains = tuple(domains)
        label_sets = list(domains.values())
        if shape.shared:
            all_labels = [label for labels in label_sets for label in labels.labels]
            label_sets = [label_sets[0].with_labels(all_labels)]
        self.decoder = nn.ModuleList(
            make_decoder(shape.decoder, encoder.width, labels, generator) for labels in label_sets
        )
        self.head: nn.Module | None = None
        if shape.head != "none":
            head = load(_HEADS[shape.head])
            self.head = head(encoder.width, classes or len(domains), generator, shape.reversal)
        self.to(encoder.device)

    def decoder_of(self, domain: int) -> Decoder:
        return cast("Decoder", self.decoder[self._number(domain)])

    def labels_of(self, domain: int) -> LabelSet:
        return self.decoder_of(domain).labels

    @property
    def _table(self) -> str:
        return f"encoder.{self.encoder.table}"

    def _number(self, domain: int) -> int:
        return 0 if self.shape.shared else domain

    def stack_tasks(self, domains: Sequence[int], rows: Tensor | None = None) -> Parameters:
        """The parameters of one task for each entry of ``domains``.

        Encoder and head are expanded without a copy; each task's decoder is padded to the largest label
        set. ``rows`` restricts the embedding table (see ``nn/encoders/active_vocabulary.py``)."""
        stacked = {}
        for name, p in self.named_parameters():
            if group_of(name) == "decoder":
                continue
            values = p.detach() if rows is None or name != self._table else p.detach()[:, rows]
            stacked[name] = values.expand(len(domains), *values.shape[1:])
        decoders = [dict(self.decoder_of(d).named_parameters()) for d in domains]
        for name in decoders[0]:
            parts = [parameters[name].detach() for parameters in decoders]
            shape = [max(sizes) for sizes in zip(*(p.shape for p in parts), strict=True)]
            stacked[f"decoder.{name}"] = torch.cat([_padded(p, shape) for p in parts])
        return stacked

    def add_gradients(
        self,
        domains: Sequence[int],
        gradients: Parameters,
        weights: Mapping[ParameterGroup, Tensor],
        rows: Tensor | None = None,
    ) -> None:
        """Add the weighted sum of the stacked gradients to ``.grad``.

        A decoder whose domain is absent keeps ``.grad`` None, so the optimiser does not change it."""
        own = dict(self.named_parameters())
        for name, gradient in gradients.items():
            group = group_of(name)
            if group != "decoder":
                weighted = torch.tensordot(weights[group], gradient, 1)[None]
                if rows is not None and name == self._table:
                    weighted = torch.zeros_like(own[name]).index_copy(1, rows, weighted)
                _accumulate(own[name], weighted)
                continue
            for task, domain in enumerate(domains):
                number = self._number(domain)
                target = own[f"decoder.{number}.{name.removeprefix('decoder.')}"]
                inner = tuple(slice(0, size) for size in target.shape[1:])
                _accumulate(target, weights[group][task] * gradient[task][inner][None])

    @torch.no_grad()
    def scale_gradients(self, factors: Mapping[ParameterGroup, float]) -> None:
        for name, p in self.named_parameters():
            if p.grad is not None:
                p.grad.mul_(factors[group_of(name)])

    def states(
        self, parameters: Parameters, batch: Batch, noise: Generator | None = None
    ) -> Tensor:
        """The encoder's states as a pure function of ``parameters``."""
        return functional_call(self.encoder, parameter_part(parameters, "encoder"), (batch, noise))

    def losses(
        self,
        parameters: Parameters,
        batch: Batch,
        domains: Sequence[int],
        *,
        classes: Sequence[int] | None = None,
        aux_weight: float = 1.0,
        per_token: bool = False,
        noise: Generator | None = None,
    ) -> Losses:
        """HGDA eq. 1 for every task, as a pure function of ``parameters``.

        ``classes`` are the correct classes of the tasks for the head, by default their domains."""
        assert batch.tags is not None
        states = self.states(parameters, batch, noise)
        constraints = TagConstraints([self.labels_of(d) for d in domains])
        negative = functional_call(
            self.decoder_of(domains[0]),
            parameter_part(parameters, "decoder"),
            (states, batch.tags, batch.mask, constraints),
        )
        label = negative.sum(1) / batch.mask.sum((1, 2)) if per_token else negative.mean(1)
        if self.head is None:
            return Losses(label, None, label)
        targets = torch.tensor(list(classes or domains), device=states.device)
        aux = functional_call(
            self.head, parameter_part(parameters, "head"), (states, batch.mask, targets)
        )
        return Losses(label, aux, label + aux_weight * aux)


def make_decoder(kind: str, width: int, labels: LabelSet, generator: Generator) -> Decoder:
    """A new decoder; ``kind`` is one of those of ``ModelShape``."""
    decoder: Decoder = load(_DECODERS[kind])(width, labels, generator)
    return decoder


def group_of(name: str) -> ParameterGroup:
    group = name.partition(".")[0]
    assert group in ("encoder", "decoder", "head"), name
    return group  # type: ignore[return-value]


def parameter_part(parameters: Parameters, group: ParameterGroup) -> Parameters:
    """The parameters of one group, under the names that they have in their module."""
    return {n.partition(".")[2]: p for n, p in parameters.items() if group_of(n) == group}


def _padded(values: Tensor, shape: Sequence[int]) -> Tensor:
    padding = [(0, size - have) for have, size in zip(values.shape, shape, strict=True)]
    return F.pad(values, [n for pair in reversed(padding) for n in pair])


def _accumulate(parameter: nn.Parameter, gradient: Tensor) -> None:
    parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient


def tag_scores(
    encoder: Encoder,
    decoder: Decoder,
    batch: Batch,
    memory: WordCache | None = None,
    of_features: Tensor | None = None,
) -> Tensor:
    """The decoder's tag scores of the encoder's states, by the faster way of the encoder if the decoder is
    linear, and of token features beside them, whose share ``of_features`` (1, B, L, tags) is given."""
    if decoder.kind == "prototypes":
        return decoder.tag_scores(encoder(batch))
    of_states = decoder.weight[..., : encoder.width]
    if of_features is None:
        scores = encoder.linear_scores(batch, of_states, memory)
    elif of_states.any():
        scores = encoder.linear_scores(batch, of_states, memory) + of_features
    else:  # a dictionary that no labelled sentence has changed
        scores = of_features
    return scores + decoder.bias[:, None, None]
