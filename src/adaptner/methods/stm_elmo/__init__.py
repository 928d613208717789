"""STM+ELMO of Jia2019: a language model learns from raw text of source and target, and a tagger reads
its states. The tagger learns from the target or, with ``adaptation.zero_shot``, from the source alone.

Whose text is read is a setting (docs/methods). Only ``adapt`` knows the target's raw text, so ``fit``
leaves the base's encoder untrained.
"""

from __future__ import annotations

from adaptner.errors import IncompatibleMethod
from adaptner.methods.base import Capabilities
from adaptner.methods.crossdomain_lm import ENCODER
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.stm_elmo.algorithm import ContextualConfig, STMElmoObjective
from adaptner.models.base import Base
from adaptner.nn.encoders.config import EncoderConfig


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
    trains_base = False
    trains_language_model = True
    Config = STMElmoConfig
    config: STMElmoConfig
    Objective = STMElmoObjective

    def check(self, base: Base) -> None:
        super().check(base)
        if not getattr(base.model.encoder.config, "language_model_width", 0):
            reason = "it has no language model (encoder.language_model_width is 0)"
            raise IncompatibleMethod(method=self.name, base=base.method, reason=reason)
