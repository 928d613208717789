"""DATNet: a discriminator that weighs sides and hard cases, and adversarial word vectors (Zhou et al.
2019, as PDALN's Table 1 has it). The variant is DATNet-F: all of θ is shared."""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from adaptner.adaptation.source_target_steps import (
    EncodeBothSides,
    SourceTargetConfig,
    labelling_loss,
    train_on_source_and_target,
)
from adaptner.methods.base import AdaptRequest, Capabilities, MethodConfig
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.heads.attention_head import AttentionDomainClassifier
from adaptner.nn.losses.perturbation import word_layer, worst_offset
from adaptner.nn.model import TaggingModel

SOURCE = 0  # the discriminator's class of it; the target's is 1


class DATNetTuneConfig(SourceTargetConfig):
    aux_weight: float = Field(1.0, ge=0, description="of GRAD; 0 leaves it out")
    focal_alpha: float = Field(
        0.25, gt=0, lt=1, description="α, the source's weight; the target: 1 - α"
    )
    focal_gamma: float = Field(2.0, ge=0, description="γ: what is told apart easily counts little")
    radius: float = Field(
        0.1, ge=0, description="of adversarial training, in mean lengths of a word vector; 0: none"
    )


class DATNetConfig(SourceConfig):
    adaptation: DATNetTuneConfig = DATNetTuneConfig()


class DualAdversary(nn.Module):
    """The labelling losses and GRAD, of the sentences as they are and as an adversary moves them."""

    def __init__(
        self, config: DATNetTuneConfig, model: TaggingModel, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config = config
        self.head = AttentionDomainClassifier(model.encoder.width, 2, generator, reversal=True)
        self._layer = [word_layer(model.encoder)]  # in a list: not a part of this module

    def forward(self, read: EncodeBothSides) -> Tensor:
        if not self.config.radius:
            return self.plain(read)
        as_it_is, moved = worst_offset(self._layer[0], lambda: self.plain(read), self.config.radius)
        return as_it_is + moved

    def plain(self, read: EncodeBothSides) -> Tensor:
        config = self.config
        source, target = read()
        total = labelling_loss(source, target, config.source_share)
        if config.aux_weight:
            ours, theirs = (
                self.head.scores(side.part.states, side.part.mask)[0].log_softmax(-1)
                for side in (source, target)
            )
            told_apart = grad_loss(ours, theirs, config.focal_alpha, config.focal_gamma)
            total = total + config.aux_weight * told_apart
        return total


def grad_loss(source: Tensor, target: Tensor, balance: float, focus: float) -> Tensor:
    """GRAD: -Σ α (1 - r)^γ log r over source sentences and -Σ (1 - α) r^γ log(1 - r) over target
    sentences, r the probability of being a source sentence; each side's mean. Given are
    log-probabilities, (B, 2), of either side."""
    ours, theirs = source[:, SOURCE], target[:, 1 - SOURCE]
    hard, hard_too = ((1 - logs.exp()) ** focus for logs in (ours, theirs))
    return -balance * (hard * ours).mean() - (1 - balance) * (hard_too * theirs).mean()


class DATNet(SourceAndTargetMethod):
    name = "datnet"
    title = "DATNet"
    paper = "PDALN"
    base_method = "finetuning"
    capabilities = Capabilities(sources="required", decoders=("crf",))
    Config: ClassVar[type[MethodConfig]] = DATNetConfig
    config: DATNetConfig

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        config = self.config.adaptation
        return train_on_source_and_target(
            base,
            given.support,
            self.labelled(base, given.sources),
            config,
            lambda model, generator: DualAdversary(config, model, generator),
            **given.options(),
        )
