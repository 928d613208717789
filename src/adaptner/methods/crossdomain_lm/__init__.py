"""The parameter generation network of Jia2019 (FINAL): NER and language modelling on source and
target at once, each with a BiLSTM generated from shared parameters (Algorithm 1).

The ablations CO-LM, CO-NER, MIX-DATA and MULTITASK(NER+LM) are settings (docs/methods). With
``adaptation.zero_shot`` no labelled sentence of the target is used. All learning is joint and takes
place in ``adapt``, so ``fit`` leaves the base's encoder untrained, and a base trained on raw text
alone can be adapted with any sources. Without sources, NER and language modelling of the target
remain, which is CO-LM.
"""

from __future__ import annotations

from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.methods.base import Capabilities
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainObjective
from adaptner.methods.crossdomain_lm.config import CrossDomainConfig
from adaptner.methods.families.joint import SourceAndTargetMethod, SourceSentences
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.training.budget import Budget

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
    trains_base = False
    Config = CrossDomainMethodConfig
    config: CrossDomainMethodConfig

    def tagger(self, base: Base, request: AdaptRequest) -> Tagger:
        if base.provenance.encoder_from == "raw text":  # its decoders are not used
            base = base.of_domains(())
        if not base.model.domains and request.sources:
            base = self.fit(request.sources, Budget(0), start=base, seed=request.seed)
        needs_sources = base.model.domains or self.config.adaptation.zero_shot
        sources = self.labelled(base, request.sources) if needs_sources else {}
        return run(self.objective(base, request, sources))

    def objective(
        self, base: Base, request: AdaptRequest, sources: SourceSentences
    ) -> CrossDomainObjective:
        config = self.config.adaptation
        if not sources:
            config = config.model_copy(update=CO_LM)
        return CrossDomainObjective(base, request, config, sources)
