"""PDALN's learning: discrepancies, contrast and a teacher, on source, target and what is between them.

Unsupervised it is eq. 8. Semi-supervised it is eq. 9, and then, round by round, eq. 11 over adaptive
data, with eq. 10 for its first term. Each round's student begins as its teacher.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from adaptner.adaptation.batch_encoding import EncodedBatch, encode_lists
from adaptner.adaptation.descent import SentenceBatches, take_steps
from adaptner.adaptation.fine_tune import adaptation_facts, compute_gradients
from adaptner.adaptation.joint_training import add_target_domain
from adaptner.adaptation.target import TargetData
from adaptner.errors import TooFewSentences
from adaptner.methods.pdaln.augmentation import mixed_domain_data
from adaptner.methods.pdaln.config import PDALNTuneConfig, stages
from adaptner.methods.pdaln.contrast import Contrast
from adaptner.methods.pdaln.distillation import (
    FixedTeacher,
    MeanTeacher,
    SelfTraining,
    VirtualAdversary,
)
from adaptner.methods.pdaln.synonyms import find_synonyms
from adaptner.methods.pdaln.text_perturbation import perturb
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary
from adaptner.nn.losses.mmd import label_aware_mmd, maximum_mean_discrepancy
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

StepSentences = tuple[list[Sentence], list[Sentence], list[Sentence]]  # D_s or D_aug, D_ta, D_tu


def adapt_pdaln(
    base: Base,
    sentences: Sequence[Sentence],
    sources: Mapping[str, Sequence[Sentence]],
    config: PDALNTuneConfig,
    *,
    labels: LabelSet | None = None,
    unlabelled: Iterable[Sentence] = (),
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """``unlabelled``: text of the target; where there is none, that of the labelled sentences serves.
    In zero-shot learning of ``sentences`` only the text is looked at."""
    scene = PDALNTraining(base, sentences, sources, config, labels, unlabelled, seed)
    budget = budget or Budget(config.steps_for(scene.epoch()))
    done = 0
    for part, steps in enumerate(stages(budget.steps, config)):
        share = steps / budget.steps
        seconds = None if budget.seconds is None else budget.seconds * share
        fill = scene.adapt if part == 0 else scene.round()
        done += scene.descend(fill, Budget(steps, seconds), _later(progress, done, budget.steps))
    scene.table.restore()
    facts = adaptation_facts(base, scene.target, done, seed) | {
        "source_sentences": len(scene.source),
        "unlabelled": len(scene.text),
        "augmented": len(scene.mixed),
        "synonyms": scene.synonyms.origin,
    }
    encoder = scene.model.encoder
    return Tagger(encoder, scene.decoder, base.batcher, base.method, facts, base.folder)


class PDALNTraining:
    """What the steps work on: θ, the one φ of all domains, W of eq. 7, and who is drawn next."""

    def __init__(
        self,
        base: Base,
        sentences: Sequence[Sentence],
        sources: Mapping[str, Sequence[Sentence]],
        config: PDALNTuneConfig,
        labels: LabelSet | None,
        unlabelled: Iterable[Sentence],
        seed: int,
    ) -> None:
        self.config, self.rng = config, random.Random(seed)
        self.source = [s for own in sources.values() for s in own]
        self.text = [s.without_entities() for s in unlabelled if len(s)]
        self.target = (
            TargetData.unseen(base, sources, labels)
            if config.zero_shot
            else TargetData.of(base, sentences, labels)
        )
        self.text = self.text or [s.without_entities() for s in sentences if len(s)]
        if not self.text:
            raise TooFewSentences(
                found=0, what="the target's raw text", needed=1, option="--unlabelled TEXT"
            )
        self.synonyms = find_synonyms()
        self.mixed: list[Sentence] = []
        if not config.zero_shot and config.augment and config.rounds:
            self.mixed = mixed_domain_data(
                self.source,
                self.target.sentences,
                self.rng,
                ratio=config.source_ratio,
                each_target=config.target_copies,
                each_source=config.source_copies,
            )
        self.generator = torch.Generator().manual_seed(seed)
        self.model = add_target_domain(
            base, list(sources), self.target.labels, True, False, self.generator
        )
        decoder = self.model.decoder_of(0)
        assert isinstance(decoder, CRF)
        self.decoder = decoder
        self.contrast = Contrast(self.model.encoder.width, self.generator)
        pool = [*self.source, *self.target.sentences, *self.text]  # whose words are all of D_aug's
        words = {word for s in pool for word in s.tokens}
        more = {other for word in words for other in self.synonyms.of(word)}
        self.table = ActiveVocabulary(self.model.encoder, base.batcher, pool, more)
        self._source = SentenceBatches(self.source, config.batch, self.rng)
        self._mixed = SentenceBatches(self.mixed or self.source, config.batch, self.rng)
        self._annotated = SentenceBatches(self.target.sentences, config.batch, self.rng)
        self._text = SentenceBatches(self.text, config.batch, self.rng)

    def epoch(self) -> int:
        """The sentences that steps are counted by."""
        return len(self.target.sentences) or len(self.source)

    def descend(
        self, fill: Callable[[], Tensor], budget: Budget, progress: ProgressCallback
    ) -> int:
        """Adam anew, at a rate that falls to zero: each stage ends before the next begins."""
        others = [*self.decoder.parameters(), *self.contrast.parameters()]
        optimiser = self.config.optimiser_of(self.model.encoder, others)

        def step() -> float:
            loss = fill()
            compute_gradients(loss, optimiser.parameters)
            return float(loss.detach())

        return take_steps(step, optimiser, budget, progress)

    def adapt(self) -> Tensor:
        """Eq. 8 or, with labelled target sentences, eq. 9 of the next batches."""
        return self.domain_loss(self._drawn(self._source))[0]

    def round(self) -> Callable[[], Tensor]:
        """Eq. 11, with a teacher that is made now."""
        weight = self.config.distil_weight
        opinion = self._opinion() if weight else None

        def loss() -> Tensor:
            drawn = self._drawn(self._mixed)
            total, student = self.domain_loss(drawn)
            if opinion is None:
                return total
            return (1 - weight) * total + weight * opinion.term(drawn[0], student)

        return loss

    def domain_loss(self, drawn: StepSentences) -> tuple[Tensor, EncodedBatch]:
        """α L_MMD^d + β L_MMD^w + L_crf + L_c (eqs 8 to 10), and what is made of the first list."""
        config = self.config
        lists = [own for own in drawn if own]
        plain = [s for own in lists for s in own]
        if config.contrast_weight:
            lists.append([perturb(s, self.synonyms, self.rng) for s in plain])
        encoder, labels = self.model.encoder, self.decoder.labels
        parts = encode_lists(encoder, self.table.batcher, labels, lists, self.generator)
        first, count = parts[0], sum(map(bool, drawn))
        target = parts[1:count]
        total = first.loss(self.decoder)
        if config.contrast_weight:
            pooled = torch.cat([part.pooled for part in parts[:count]])
            contrast = self.contrast(
                pooled, parts[-1].pooled, config.temperature, config.unit_length
            )
            total = total + config.contrast_weight * contrast
        apart = config.text_weight if config.zero_shot else config.sentence_weight
        if apart:
            theirs = torch.cat([part.pooled for part in target])
            total = total + apart * maximum_mean_discrepancy(first.pooled, theirs)
        if not config.zero_shot:
            annotated = target[0]
            total = total + annotated.loss(self.decoder)
            if config.word_weight:
                words = label_aware_mmd(
                    first.tokens,
                    first.token_tags,
                    annotated.tokens,
                    annotated.token_tags,
                    config.tag_weight,
                )
                total = total + config.word_weight * words
        return total, first

    def _drawn(self, first: SentenceBatches) -> StepSentences:
        annotated = [] if self.config.zero_shot else self._annotated.next()
        return first.next(), annotated, self._text.next()

    def _opinion(self) -> SelfTraining:
        config, encoder, decoder = self.config, self.model.encoder, self.decoder
        batcher = self.table.batcher
        if config.self_training == "vat":
            return VirtualAdversary(encoder, decoder, batcher, config.radius, self.generator)
        if config.self_training == "mean-teacher":
            return MeanTeacher(encoder, decoder, batcher, config.confidence, config.teacher_decay)
        return FixedTeacher(encoder, decoder, batcher, config.confidence)


def _later(progress: ProgressCallback, done: int, total: int) -> ProgressCallback:
    """A stage of a whole, to those who watch the whole."""

    begun, whole = done, total

    def told(done: int, total: int, remark: str = "") -> None:
        progress(begun + done, whole, remark)

    return told
