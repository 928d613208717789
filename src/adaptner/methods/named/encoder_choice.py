"""Which θ of a base suits a target: that which sources have tuned, where they have taught most of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adaptner.methods.named.decoder_fit import EncodedSentences, LinearFitConfig, known_from_sources
from adaptner.models.base import Base
from adaptner.types import LabelSet, Sentence

MIN_SHARE_OF_MENTIONS = 2 / 3  # of the mentions; it knows less of what they have not taught


def choose_encoder(
    base: Base, sentences: Sequence[Sentence], labels: LabelSet, config: LinearFitConfig
) -> Base:
    taught = base.with_fine_tuned_encoder
    if taught is None or not config.use_source_labels:
        return base
    marked = [EncodedSentences.of(taught, sentences, labels, config)]
    known = known_from_sources(taught, labels, config, marked).keys()
    counts = Counter(e.label for s in sentences for e in s.entities) or Counter(labels.labels)
    share = sum(counts[label] for label in known) / counts.total()
    return taught if share >= MIN_SHARE_OF_MENTIONS else base
