"""Chooses between the two encoders of a base: the fine-tuned one if its source labels cover two
thirds of the target's mentions, otherwise the one trained on raw text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adaptner.adaptation.target import TargetData
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.encoded import EncodedSentences
from adaptner.methods.named.label_matching import LabelMatch, match_labels
from adaptner.models.base import Base
from adaptner.types import LabelSet, Sentence

MAX_FEW_SHOT = 300  # sentences whose states are held in memory at the same time
MIN_SHARE_OF_MENTIONS = 2 / 3  # the fine-tuned encoder knows less about labels not in its sources


@dataclass(frozen=True)
class EncodedTarget:
    """The labelled sentences, read once by the encoder that the tagger will have."""

    base: Base
    target: TargetData
    encoded: EncodedSentences  # the first `MAX_FEW_SHOT` of the target's sentences
    matches: Mapping[str, LabelMatch]

    @classmethod
    def of(
        cls,
        base: Base,
        sentences: Sequence[Sentence],
        config: LinearFitConfig,
        labels: LabelSet | None = None,
    ) -> EncodedTarget:
        """Read by the base's first encoder."""
        target = TargetData.of(base, sentences, labels)
        encoded = EncodedSentences.of(
            base, target.sentences[:MAX_FEW_SHOT], target.labels, config.empty_sentence_weight
        )
        matches = {}
        if config.use_source_labels:
            by_name = config.name_weight > 0
            matches = match_labels(base, target.labels, [encoded], by_name=by_name)
        return cls(base, target, encoded, matches)

    def match_facts(self) -> dict[str, dict[str, str]]:
        """For a tagger's facts: the source label that each matched label started from."""
        known = {label: match.label for label, match in self.matches.items()}
        return {"known": known} if known else {}


def encode_target(
    base: Base,
    sentences: Sequence[Sentence],
    config: LinearFitConfig,
    labels: LabelSet | None = None,
) -> EncodedTarget:
    """The sentences as the encoder reads them that suits their labels best."""
    fine_tuned = base.with_fine_tuned_encoder
    if fine_tuned is not None and config.use_source_labels:
        found = EncodedTarget.of(
            fine_tuned, sentences, config, TargetData.of(base, sentences, labels).labels
        )
        first = found.target.sentences[:MAX_FEW_SHOT]
        counts = Counter(e.label for s in first for e in s.entities)
        counts = counts or Counter(found.target.labels.labels)
        covered = sum(counts[label] for label in found.matches) / counts.total()
        if covered >= MIN_SHARE_OF_MENTIONS:
            return found
    return EncodedTarget.of(base, sentences, config, labels)
