"""Chooses between the two encoders of a base: the fine-tuned one if its source labels cover two
thirds of the target's mentions, otherwise the one trained on raw text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from adaptner.adaptation.target import TargetData
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_prior import decoder_prior
from adaptner.methods.named.encoded import EncodedSentences
from adaptner.methods.named.label_matching import LabelMatch, match_labels
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.terms.features import TermFeatures
from adaptner.types import LabelSet, Sentence

if TYPE_CHECKING:
    from adaptner.methods.named.held_out import CrossValidation

# Sentences whose states are held in memory at the same time. Over a dictionary the decoder alone learns
# from more of them, because fine-tuning the encoder does not read the dictionary.
MAX_FEW_SHOT, MAX_WITH_TERMS = 300, 1000
MIN_SHARE_OF_MENTIONS = 2 / 3  # the fine-tuned encoder knows less about labels not in its sources


@dataclass(frozen=True)
class EncodedTarget:
    """The labelled sentences, read once by the encoder that the tagger will have."""

    base: Base
    target: TargetData
    encoded: EncodedSentences  # the first ones of the target's sentences, as many as are fitted
    matches: Mapping[str, LabelMatch]
    features: TermFeatures | None = None  # for labels that a terminology knows
    validations: dict[int, CrossValidation] = field(default_factory=dict, compare=False)

    @property
    def starts_as_dictionary(self) -> bool:
        """Whether terminologies know all labels, so that the start is a tagger by itself."""
        known = {} if self.features is None else self.features.kinds
        return set(known) == set(self.target.labels.labels)

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
        features = base.term_features(target.labels.labels) if config.use_terms else None
        encoded = EncodedSentences.of(
            base,
            target.sentences[: MAX_FEW_SHOT if features is None else MAX_WITH_TERMS],
            target.labels,
            config.empty_sentence_weight,
            features,
        )
        matches = {}
        if config.use_source_labels:
            by_name = config.name_weight > 0
            matches = match_labels(base, target.labels, [encoded], by_name=by_name)
        return cls(base, target, encoded, matches, features)

    def prior(self, config: LinearFitConfig) -> CRF:
        return decoder_prior(self.base, self.target.labels, config, self.matches, self.features)

    def raw(self, config: LinearFitConfig) -> list[EncodedSentences]:
        """The base's raw sentences with the dictionary's tags, if it knows all labels: they hold the
        decoder to the dictionary on text like that which it will read."""
        if not self.base.raw_sentences or not config.raw_weight or not self.starts_as_dictionary:
            return []
        encoded = self._encoded_raw
        return [replace(encoded, weights=torch.full_like(encoded.weights, config.raw_weight))]

    @cached_property
    def _encoded_raw(self) -> EncodedSentences:
        assert self.features is not None
        tagged = self.features.tag(self.base.raw_sentences)
        return EncodedSentences.of(self.base, tagged, self.target.labels, 1.0, self.features)

    def tagger(self, decoder: CRF, facts: dict[str, Any]) -> Tagger:
        base = self.base
        return Tagger(
            base.model.encoder,
            decoder,
            base.batcher,
            base.method,
            facts,
            base.folder,
            features=self.features,
        )

    def match_facts(self) -> dict[str, Any]:
        """For a tagger's facts: the kinds of terminologies, or the source label, that each label started
        from."""
        from_terms = {} if self.features is None else self.features.kinds
        known = {x: match.label for x, match in self.matches.items() if x not in from_terms}
        facts: dict[str, Any] = {"known": known} if known else {}
        if from_terms:
            facts["terms"] = {label: list(kinds) for label, kinds in from_terms.items()}
        return facts


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
