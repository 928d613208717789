"""PDALN: progressive domain adaptation by discrepancies of sentences and words, contrastive learning
and self-distillation.

With ``adaptation.zero_shot`` it is the paper's unsupervised form (eq. 8), otherwise the
semi-supervised one (eqs 9 to 11). The ablations and the variants w/ MT and w/ VAT are settings
(docs/methods/pdaln.md).
"""

from __future__ import annotations

from typing import Literal

from adaptner.methods.base import Capabilities
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.pdaln.algorithm import PDALNObjective
from adaptner.methods.pdaln.config import PDALNTuneConfig


class PDALNConfig(SourceConfig):
    decoders: Literal["own", "shared"] = "shared"
    adaptation: PDALNTuneConfig = PDALNTuneConfig()


class PDALN(SourceAndTargetMethod):
    name = "pdaln"
    title = "PDALN"
    paper = "PDALN"
    needs = "source corpora, at adaptation too; unlabelled target text helps"
    base_method = "finetuning"
    capabilities = Capabilities(
        target_labels="optional",
        sources="required",
        text="in memory",
        new_labels=False,
        augments=True,
        decoders=("crf",),
    )
    Config = PDALNConfig
    config: PDALNConfig
    Objective = PDALNObjective
