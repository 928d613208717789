"""Ours: φ starts from what the label's name means, over a θ that raw text has made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from adaptner.adaptation.cross_fit import cross_fit
from adaptner.adaptation.linear_fit import LinearFitConfig
from adaptner.adaptation.mentions import LeftOut
from adaptner.adaptation.named_tune import FEW, named_tune
from adaptner.adaptation.tagger import Tagger
from adaptner.adaptation.target import Target
from adaptner.methods.method import Given
from adaptner.methods.source_learner import SourceConfig
from adaptner.methods.supervised import Supervised
from adaptner.nn.encoder import EncoderConfig
from adaptner.training.base import Base
from adaptner.training.progress import Watch, silent
from adaptner.types import LabelSet, Sentence


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
    calibrated = True
    Config = NamedConfig
    config: NamedConfig

    @property
    def tunes(self) -> bool:
        return True

    def left_out(
        self,
        base: Base,
        support: Sequence[Sentence],
        *,
        labels: LabelSet | None = None,
        seed: int = 0,
        watch: Watch = silent,
    ) -> list[LeftOut] | None:
        """By φ alone, which costs no more than the fit; what tuning θ adds is a matter of the
        constants of trust. None where that is too far from what happens: with many sentences."""
        target = Target.of(base, support, labels)
        if len(target.sentences) > FEW or len({s.text for s in target.sentences}) < 2:
            return None
        options: dict[str, Any] = {"seed": seed, "watch": watch}
        return cross_fit(base, target.sentences, target.labels, self.config.adaptation, **options)

    def tagger(self, base: Base, given: Given) -> Tagger:
        return named_tune(base, given.support, self.config.adaptation, **given.options())
