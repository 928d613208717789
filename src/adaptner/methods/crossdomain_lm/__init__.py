"""The parameter generation network of Jia2019 (FINAL): NER and language modelling on source and
target at once, each with a BiLSTM generated from what they share (paper 004, Algorithm 1).

Its ablations are settings: CO-LM, CO-NER, MIX-DATA and MULTITASK(NER+LM) (docs/methods). With
``adaptation.zero_shot`` no labelled sentence of the target is used. The base is an encoder as it was
made: all learning is joint, and so takes place in ``adapt``. Hence any sources will do for a base that
has learnt from raw text alone; where there are none, NER and language modelling of the target are all
there is to learn, which is CO-LM.
"""

from __future__ import annotations

from typing import ClassVar

from adaptner.methods.base import AdaptRequest, Capabilities, MethodConfig
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainConfig, adapt_crossdomain_lm
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.recurrent import EncoderConfig
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun

# NCRF++'s public defaults, which the authors' published settings repeat.
ENCODER = EncoderConfig(
    word_width=100,
    tune_words=True,
    char_embedding=30,
    char_cnn_widths=(3,),
    char_cnn_filters=50,
    char_lstm=0,
    hidden=100,
    dropout=0.5,
)

CO_LM = {"data": "target", "domain_size": 0}


class CrossDomainMethodConfig(SourceConfig):
    adaptation: CrossDomainConfig = CrossDomainConfig()
    encoder: EncoderConfig = ENCODER


class CrossDomainLM(SourceAndTargetMethod):
    name = "crossdomain-lm"
    title = "FINAL (cross-domain LM)"
    paper = "Jia2019"
    needs = "source corpora, at adaptation; raw target text helps"
    capabilities = Capabilities(
        target_labels="optional",
        sources="optional",
        text="streamed",
        decoders=("crf",),
        encoders=("recurrent",),
    )
    learns = False
    Config: ClassVar[type[MethodConfig]] = CrossDomainMethodConfig
    config: CrossDomainMethodConfig

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        config = self.config.adaptation
        if base.provenance.encoder_from == "raw text":  # source decoders are of no use here
            base = base.of_domains(())
        if not base.model.domains and given.sources:
            base = self.fit(given.sources, Budget(0), start=base, seed=given.seed)
        if base.model.domains or config.zero_shot:
            known = self.labelled(base, given.sources)
        else:
            known, config = {}, config.model_copy(update=CO_LM)
        return adapt_crossdomain_lm(
            base,
            given.support,
            known,
            config,
            labels=given.labels,
            unlabelled=given.unlabelled,
            budget=given.budget,
            seed=given.seed,
            run=TrainingRun(progress=given.progress),
        )
