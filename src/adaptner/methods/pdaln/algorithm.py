"""PDALN's objective: equation 8 without target labels, otherwise equations 9 to 11 (section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from adaptner.adaptation.batch_encoding import EncodedBatch, encode_lists
from adaptner.adaptation.joint_training import add_target_domain
from adaptner.adaptation.loop import AdaptationObjective
from adaptner.adaptation.sentence_batches import SentenceBatches
from adaptner.methods.pdaln.augmentation import mixed_domain_data
from adaptner.methods.pdaln.config import PDALNTuneConfig, split_budget
from adaptner.methods.pdaln.distillation import SELF_TRAINING, SelfTraining
from adaptner.methods.pdaln.losses import (
    ContrastiveProjection,
    crf_loss,
    sentence_discrepancy,
    word_discrepancy,
)
from adaptner.methods.pdaln.synonyms import find_synonyms
from adaptner.methods.pdaln.text_perturbation import perturb
from adaptner.nn.decoders.crf import CRF
from adaptner.training.budget import Budget
from adaptner.types import Sentence


class StepSentences(NamedTuple):
    """The sentences of a step."""

    source: list[Sentence]  # of D_s or, in the rounds, of D_aug
    annotated: list[Sentence]  # of D_ta; none in zero-shot learning
    text: list[Sentence]  # of D_tu


class PDALNObjective(AdaptationObjective):
    """One encoder and one CRF for all domains, and the projection W of eq. 7."""

    config: PDALNTuneConfig
    decoder: CRF

    def build(self) -> None:
        config = self.config
        self.text = self.request.target_text()
        self.synonyms = find_synonyms()
        self.augmented: list[Sentence] = []
        if not config.zero_shot and config.augment and config.rounds:
            self.augmented = mixed_domain_data(
                self.source_sentences, self.target.sentences, self.rng, config
            )
        model = add_target_domain(self, shared=True)
        decoder = model.decoder_of(0)
        assert isinstance(decoder, CRF)
        self.encoder, self.decoder = model.encoder, decoder
        self.projection = ContrastiveProjection(self.encoder.width, self.generator)
        self.projection.to(self.encoder.device)
        self.source_batches, self.augmented_batches, self.annotated_batches, self.text_batches = (
            SentenceBatches(sentences, config.batch, self.rng)
            for sentences in (
                self.source_sentences,
                self.augmented or self.source_sentences,
                self.target.sentences,
                self.text,
            )
        )
        self.in_round = False
        self.teacher: SelfTraining | None = None

    def stages(self, budget: Budget) -> Iterator[Budget]:
        """Eq. 8 or 9, then the rounds of section 4.2.3, each of which starts from its teacher."""
        for number, part in enumerate(split_budget(budget, self.config)):
            if number:
                self.in_round, self.teacher = True, self.new_teacher()
            yield part

    def loss(self) -> Tensor:
        """The next step's loss by eq. 8 or 9 or, in a round, by eq. 11, whose first term is eq. 10."""
        sentences = self.draw()
        total, student = self.alignment_loss(sentences)
        if self.teacher is None:
            return total
        weight = self.config.distil_weight
        return (1 - weight) * total + weight * self.teacher.loss(sentences.source, student)

    def alignment_loss(self, sentences: StepSentences) -> tuple[Tensor, EncodedBatch]:
        """α L_MMD^d + β L_MMD^w + L_crf + L_c (eqs 8 to 10), and the encoded source sentences."""
        config = self.config
        lists = [own for own in sentences if own]
        if config.contrast_weight:
            lists.append([perturb(s, self.synonyms, self.rng) for own in lists for s in own])
        labels, device = self.decoder.labels, self.encoder.device
        parts = encode_lists(self.encoder, self.batcher, labels, lists, device, self.generator)
        plain = parts[:-1] if config.contrast_weight else parts
        source, *target = plain
        total = crf_loss(source, self.decoder)
        if config.contrast_weight:
            contrast = self.projection(
                torch.cat([part.pooled for part in plain]),
                parts[-1].pooled,
                config.temperature,
                config.unit_length,
            )
            total = total + config.contrast_weight * contrast
        sentence_weight = config.text_weight if config.zero_shot else config.sentence_weight
        if sentence_weight:
            total = total + sentence_weight * sentence_discrepancy(source, target)
        if not config.zero_shot:
            annotated = target[0]
            total = total + crf_loss(annotated, self.decoder)
            if config.word_weight:
                words = word_discrepancy(source, annotated, config.tag_weight)
                total = total + config.word_weight * words
        return total, source

    def draw(self) -> StepSentences:
        annotated = [] if self.config.zero_shot else self.annotated_batches.next()
        source = self.augmented_batches if self.in_round else self.source_batches
        return StepSentences(source.next(), annotated, self.text_batches.next())

    def new_teacher(self) -> SelfTraining | None:
        if not self.config.distil_weight:
            return None
        kind = SELF_TRAINING[self.config.self_training]
        return kind(self.config, self.encoder, self.decoder, self.batcher, self.generator)

    def sentences(self) -> list[Sentence]:
        # D_aug has no other words than these.
        return [*self.source_sentences, *self.target.sentences, *self.text]

    def extra_words(self) -> Iterable[str]:
        words = {word for s in self.sentences() for word in s.tokens}
        return {synonym for word in words for synonym in self.synonyms.of(word)}

    def other_parameters(self) -> list[nn.Parameter]:
        return [*self.decoder.parameters(), *self.projection.parameters()]

    def facts(self) -> dict[str, object]:
        return {
            "source_sentences": len(self.source_sentences),
            "unlabelled": len(self.text),
            "augmented": len(self.augmented),
            "synonyms": self.synonyms.origin,
        }
