"""DATNet: a domain discriminator weighted by side and difficulty, and adversarial word vectors (Zhou et
al. 2019), as PDALN's Table 1 reports it. The variant is DATNet-F: both sides share the whole encoder."""

from __future__ import annotations

from pydantic import Field
from torch import Tensor, nn

from adaptner.adaptation.source_target_steps import (
    EncodeBothSides,
    SourceTargetConfig,
    SourceTargetObjective,
)
from adaptner.methods.base import Capabilities
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.nn.heads.attention_head import AttentionDomainClassifier
from adaptner.nn.losses.perturbation import word_layer, worst_offset

SOURCE_CLASS, TARGET_CLASS = 0, 1  # of the discriminator


class DATNetTuneConfig(SourceTargetConfig):
    aux_weight: float = Field(1.0, ge=0, description="Weight of GRAD; 0 leaves it out.")
    focal_alpha: float = Field(
        0.25, gt=0, lt=1, description="Weight α of the source in GRAD; the target's is 1 - α."
    )
    focal_gamma: float = Field(
        2.0,
        ge=0,
        description="Exponent γ: the higher, the less a sentence counts that the discriminator tells "
        "apart easily.",
    )
    radius: float = Field(
        0.1,
        ge=0,
        description="Radius of adversarial training, in mean lengths of a word vector; 0 leaves it "
        "out.",
    )


class DATNetConfig(SourceConfig):
    adaptation: DATNetTuneConfig = DATNetTuneConfig()


class DATNetObjective(SourceTargetObjective):
    """The label losses and GRAD, for the sentences and for an adversarial offset of their word
    vectors."""

    config: DATNetTuneConfig

    def build(self) -> None:
        super().build()
        self.head = AttentionDomainClassifier(self.encoder.width, 2, self.generator, reversal=True)
        self.head.to(self.encoder.device)

    def other_parameters(self) -> list[nn.Parameter]:
        return [*super().other_parameters(), *self.head.parameters()]

    def pair_loss(self, encode_both: EncodeBothSides) -> Tensor:
        if not self.config.radius:
            return self.clean_loss(encode_both)
        clean, adversarial = worst_offset(
            word_layer(self.encoder), lambda: self.clean_loss(encode_both), self.config.radius
        )
        return clean + adversarial

    def clean_loss(self, encode_both: EncodeBothSides) -> Tensor:
        config = self.config
        sides = encode_both()
        total = self.label_loss(*sides)
        if config.aux_weight:
            source, target = (
                self.head.scores(side.part.states, side.part.mask)[0].log_softmax(-1)
                for side in sides
            )
            discrimination = grad_loss(source, target, config.focal_alpha, config.focal_gamma)
            total = total + config.aux_weight * discrimination
        return total


def grad_loss(source: Tensor, target: Tensor, balance: float, focus: float) -> Tensor:
    """GRAD: -Σ α (1 - r)^γ log r over source sentences and -Σ (1 - α) r^γ log(1 - r) over target
    sentences, averaged over each side; r is the probability of being a source sentence.

    ``source`` and ``target`` are log-probabilities of the two classes, (sentences, 2)."""
    of_source, of_target = source[:, SOURCE_CLASS], target[:, TARGET_CLASS]
    source_focus, target_focus = ((1 - logs.exp()) ** focus for logs in (of_source, of_target))
    return (
        -balance * (source_focus * of_source).mean()
        - (1 - balance) * (target_focus * of_target).mean()
    )


class DATNet(SourceAndTargetMethod):
    name = "datnet"
    title = "DATNet"
    paper = "PDALN"
    base_method = "finetuning"
    capabilities = Capabilities(sources="required", decoders=("crf",))
    Config = DATNetConfig
    config: DATNetConfig
    Objective = DATNetObjective
