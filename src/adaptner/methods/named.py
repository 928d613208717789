"""Ours: θ stays as it is, and a linear CRF over it starts from what the label's name means."""

from __future__ import annotations

from pydantic import Field

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.adaptation.linear_fit import LinearFitConfig, linear_fit
from adaptner.adaptation.tagger import Tagger
from adaptner.methods.method import Given
from adaptner.methods.source_learner import SourceConfig
from adaptner.methods.supervised import Supervised
from adaptner.nn.encoder import EncoderConfig
from adaptner.training.base import Base

# With so many sentences θ is worth tuning too, and all features at once would fill the memory.
FEW = 300


class NamedConfig(SourceConfig):
    encoder: EncoderConfig = EncoderConfig(wide=True)
    adaptation: LinearFitConfig = Field(LinearFitConfig())


class Named(Supervised):
    name = "named"
    title = "Named"
    paper = "adaptner"
    needs = "raw text; source corpora if there are any"
    Config = NamedConfig
    config: NamedConfig

    @property
    def tunes(self) -> bool:
        return True

    def for_many(self) -> FineTuneConfig:
        return FineTuneConfig()

    def tagger(self, base: Base, given: Given) -> Tagger:
        if len(given.support) > FEW:
            return fine_tune(base, given.support, self.for_many(), **given.options())
        return linear_fit(base, given.support, self.config.adaptation, **given.options())
