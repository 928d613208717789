"""La-DTL: label-aware discrepancy of token states and transfer of CRF parameters (Wang et al. 2018),
as PDALN's Table 1 reports it."""

from __future__ import annotations

from pydantic import Field
from torch import Tensor

from adaptner.adaptation.decoder_start import shared_tags
from adaptner.adaptation.source_target_steps import (
    EncodeBothSides,
    SourceTargetConfig,
    SourceTargetObjective,
)
from adaptner.methods.base import Capabilities
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.losses.mmd import label_aware_mmd


class LaDTLTuneConfig(SourceTargetConfig):
    mmd_weight: float = Field(1.0, ge=0, description="Weight α of the label-aware discrepancy.")
    tag_weight: float = Field(1.0, ge=0, description="Weight μ_y of each tag.")
    parameter_weight: float = Field(
        0.1, ge=0, description="Weight β of the distance between the two CRFs."
    )


class LaDTLConfig(SourceConfig):
    adaptation: LaDTLTuneConfig = LaDTLTuneConfig()


class LaDTLObjective(SourceTargetObjective):
    """L_c + α L_La-MMD + β L_p. The paper's fourth term, L_r, is the optimiser's weight decay."""

    config: LaDTLTuneConfig

    def pair_loss(self, encode_both: EncodeBothSides) -> Tensor:
        config = self.config
        source, target = encode_both()
        total = self.label_loss(source, target)
        if config.mmd_weight:
            discrepancy = label_aware_mmd(
                source.part.tokens,
                source.part.token_tags,
                target.part.tokens,
                target.part.token_tags,
                config.tag_weight,
            )
            total = total + config.mmd_weight * discrepancy
        if config.parameter_weight:
            distance = parameter_distance(source.decoder, target.decoder)
            total = total + config.parameter_weight * distance
        return total


def parameter_distance(source: CRF, target: CRF) -> Tensor:
    """L_p, the squared distance of two CRFs over the tags they share. It bounds the distance of their
    distributions."""
    in_target, in_source = shared_tags(target, source)
    total = target.bias.new_zeros(())
    for (name, p), q in zip(target.named_parameters(), source.parameters(), strict=True):
        if name == "transition":
            change = p[0, in_target[:, None], in_target] - q[0, in_source[:, None], in_source]
        else:
            change = p[0, in_target] - q[0, in_source]
        total = total + change.square().sum()
    return total


class LaDTL(SourceAndTargetMethod):
    name = "la-dtl"
    title = "La-DTL"
    paper = "PDALN"
    base_method = "finetuning"
    capabilities = Capabilities(sources="required", decoders=("crf",))
    Config = LaDTLConfig
    config: LaDTLConfig
    Objective = LaDTLObjective
