"""Ours: φ starts from what the label's name means, over a θ that raw text has made."""

from __future__ import annotations

from pydantic import Field

from adaptner.adaptation.linear_fit import LinearFitConfig
from adaptner.adaptation.named_tune import named_tune
from adaptner.adaptation.tagger import Tagger
from adaptner.methods.method import Given
from adaptner.methods.source_learner import SourceConfig
from adaptner.methods.supervised import Supervised
from adaptner.nn.encoder import EncoderConfig
from adaptner.training.base import Base


class NamedConfig(SourceConfig):
    encoder: EncoderConfig = EncoderConfig(wide=True)
    adaptation: LinearFitConfig = Field(LinearFitConfig())


class Named(Supervised):
    name = "named"
    title = "Named"
    paper = "adaptner"
    decoders = ("crf",)
    encoders = ("recurrent",)
    needs = "raw text; source corpora if there are any"
    Config = NamedConfig
    config: NamedConfig

    @property
    def tunes(self) -> bool:
        return True

    def tagger(self, base: Base, given: Given) -> Tagger:
        return named_tune(base, given.support, self.config.adaptation, **given.options())
