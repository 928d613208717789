"""Which θ of a base suits a target: that which sources have tuned, where they have taught all of it."""

from __future__ import annotations

from collections.abc import Sequence

from adaptner.adaptation.linear_fit import Encoded, LinearFitConfig, known_from_sources
from adaptner.training.base import Base
from adaptner.types import LabelSet, Sentence


def suited(
    base: Base, sentences: Sequence[Sentence], labels: LabelSet, config: LinearFitConfig
) -> Base:
    taught = base.over_taught
    if taught is None or not config.sources:
        return base
    marked = [Encoded.of(taught, sentences, labels, config)]
    known = known_from_sources(taught, labels, config, marked)
    return taught if known.keys() >= set(labels.labels) else base
