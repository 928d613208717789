"""STM+ELMO of Jia2019: a language model learns from raw text of source and target, and its states are
inputs of a tagger that learns from the target or, with ``adaptation.zero_shot``, from the source alone.

Whose text is read is a setting (docs/methods). The base is an encoder as it was made: raw text of the
target is at hand in ``adapt`` only.
"""

from __future__ import annotations

from typing import ClassVar

from adaptner.errors import IncompatibleMethod
from adaptner.methods.base import AdaptRequest, Capabilities, MethodConfig
from adaptner.methods.crossdomain_lm import ENCODER
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.stm_elmo.algorithm import ContextualConfig, adapt_stm_elmo
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.recurrent import EncoderConfig


class STMElmoConfig(SourceConfig):
    adaptation: ContextualConfig = ContextualConfig()
    encoder: EncoderConfig = ENCODER.model_copy(update={"language_model_width": 100})


class STMElmo(SourceAndTargetMethod):
    name = "stm-elmo"
    title = "STM+ELMO"
    paper = "Jia2019"
    needs = "source corpora, at adaptation; raw target text helps"
    capabilities = Capabilities(
        target_labels="optional", sources="required", text="streamed", encoders=("recurrent",)
    )
    learns = False
    contextual = True
    Config: ClassVar[type[MethodConfig]] = STMElmoConfig
    config: STMElmoConfig

    def check(self, base: Base) -> None:
        super().check(base)
        if not getattr(base.model.encoder.config, "language_model_width", 0):
            reason = "its encoder has no place for a language model's states (encoder.language_model_width)"
            raise IncompatibleMethod(method=self.name, base=base.method, reason=reason)

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        return adapt_stm_elmo(
            base,
            given.support,
            self.labelled(base, given.sources),
            self.config.adaptation,
            unlabelled=given.unlabelled,
            **given.options(),
        )
