"""PDALN: domains are drawn together by discrepancies of sentences and words, by sentences between them
and by teachers of oneself (paper 003).

With ``adaptation.zero_shot`` it is the unsupervised PDALN (eq. 8), else the semi-supervised one (eqs 9
to 11). Its ablations and its two variants, w/ MT and w/ VAT, are settings (docs/methods/pdaln.md).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from adaptner.methods.base import AdaptRequest, Capabilities, MethodConfig
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.pdaln.algorithm import adapt_pdaln
from adaptner.methods.pdaln.config import PDALNTuneConfig
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger


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
    Config: ClassVar[type[MethodConfig]] = PDALNConfig
    config: PDALNConfig

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        return adapt_pdaln(
            base,
            given.support,
            self.labelled(base, given.sources),
            self.config.adaptation,
            unlabelled=given.unlabelled,
            **given.options(),
        )
