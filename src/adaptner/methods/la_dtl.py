"""La-DTL: label-aware discrepancy of token states and transfer of CRF parameters (Wang et al. 2018, as
PDALN's Table 1 has it)."""

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
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.losses.mmd import label_aware_mmd


class LaDTLTuneConfig(SourceTargetConfig):
    mmd_weight: float = Field(1.0, ge=0, description="α, of the label-aware discrepancy")
    tag_weight: float = Field(1.0, ge=0, description="μ_y, of each tag")
    parameter_weight: float = Field(0.1, ge=0, description="β, of the distance of the CRFs")


class LaDTLConfig(SourceConfig):
    adaptation: LaDTLTuneConfig = LaDTLTuneConfig()


class LabelAwareObjective(nn.Module):
    """L_c + α L_La-MMD + β L_p; the fourth term, L_r, is the optimiser's weight decay."""

    def __init__(self, config: LaDTLTuneConfig) -> None:
        super().__init__()
        self.config = config

    def forward(self, read: EncodeBothSides) -> Tensor:
        config = self.config
        source, target = read()
        total = labelling_loss(source, target, config.source_share)
        if config.mmd_weight:
            ours, theirs = source.part, target.part
            apart = label_aware_mmd(
                ours.tokens, ours.token_tags, theirs.tokens, theirs.token_tags, config.tag_weight
            )
            total = total + config.mmd_weight * apart
        if config.parameter_weight:
            between = parameter_distance(source.decoder, target.decoder)
            total = total + config.parameter_weight * between
        return total


def parameter_distance(source: CRF, target: CRF) -> Tensor:
    """L_p: the squared distance of two CRFs over the tags they share, which bounds how far apart
    their distributions can be."""
    shared = [tag for tag in target.labels.tags if tag in source.labels.index]
    mine, theirs = (torch.tensor([d.labels.index[t] for t in shared]) for d in (target, source))
    total = target.bias.new_zeros(())
    for (name, p), q in zip(target.named_parameters(), source.parameters(), strict=True):
        if name == "transition":
            change = p[0, mine[:, None], mine] - q[0, theirs[:, None], theirs]
        else:
            change = p[0, mine] - q[0, theirs]
        total = total + change.square().sum()
    return total


class LaDTL(SourceAndTargetMethod):
    name = "la-dtl"
    title = "La-DTL"
    paper = "PDALN"
    base_method = "finetuning"
    capabilities = Capabilities(sources="required", decoders=("crf",))
    Config: ClassVar[type[MethodConfig]] = LaDTLConfig
    config: LaDTLConfig

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        config = self.config.adaptation
        return train_on_source_and_target(
            base,
            given.support,
            self.labelled(base, given.sources),
            config,
            lambda model, generator: LabelAwareObjective(config),
            **given.options(),
        )
