"""The second term of equation 11: PDALN's fixed teacher, and the two methods that the paper compares
with it, Mean Teacher and virtual adversarial training."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from adaptner.adaptation.batch_encoding import EncodedBatch, encode_lists
from adaptner.methods.pdaln.config import PDALNTuneConfig, SelfTrainingKind
from adaptner.nn.batching.batch import Batcher
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.losses.distillation import distillation_loss
from adaptner.nn.losses.perturbation import virtual_adversary, word_layer
from adaptner.types import Sentence


class SelfTraining(ABC):
    """Created at the start of a round from the student, ``encoder`` and ``decoder``."""

    def __init__(
        self,
        config: PDALNTuneConfig,
        encoder: Encoder,
        decoder: CRF,
        batcher: Batcher,
        generator: Generator,
    ) -> None:
        self.config, self.batcher, self.generator = config, batcher, generator
        self.student_encoder, self.student_decoder = encoder, decoder

    @abstractmethod
    def loss(self, sentences: Sequence[Sentence], student: EncodedBatch) -> Tensor:
        """The loss of ``sentences``, which the student has encoded as ``student``."""


class FixedTeacher(SelfTraining):
    """A copy of the student at the start of the round."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.encoder = copy.deepcopy(self.student_encoder)
        self.decoder = copy.deepcopy(self.student_decoder)

    def loss(self, sentences: Sequence[Sentence], student: EncodedBatch) -> Tensor:
        labels, device = self.decoder.labels, self.encoder.device
        with torch.no_grad():
            (batch,) = encode_lists(self.encoder, self.batcher, labels, [sentences], device)
            teacher = self.decoder.log_marginals(batch.states, batch.mask).exp()
        log_marginals = self.student_decoder.log_marginals(student.states, student.mask)
        return distillation_loss(teacher, log_marginals, student.mask, self.config.confidence)


class MeanTeacher(FixedTeacher):
    """A running mean of the student (Tarvainen and Valpola 2017)."""

    def loss(self, sentences: Sequence[Sentence], student: EncodedBatch) -> Tensor:
        with torch.no_grad():
            for mean, current in (
                (self.encoder, self.student_encoder),
                (self.decoder, self.student_decoder),
            ):
                for p, q in zip(mean.parameters(), current.parameters(), strict=True):
                    p.lerp_(q, 1 - self.config.teacher_decay)
        return super().loss(sentences, student)


class VirtualAdversary(SelfTraining):
    """No teacher: the tag distributions shall not change when the word vectors move in the direction
    that changes them most (Miyato et al. 2018)."""

    def loss(self, sentences: Sequence[Sentence], student: EncodedBatch) -> Tensor:
        batch = self.batcher([sentences]).to(self.student_encoder.device)

        def log_marginals() -> Tensor:
            return self.student_decoder.log_marginals(self.student_encoder(batch), batch.mask)

        layer = word_layer(self.student_encoder)
        return virtual_adversary(
            layer, log_marginals, batch.mask, self.config.radius, self.generator
        )


SELF_TRAINING: dict[SelfTrainingKind, type[SelfTraining]] = {
    "teacher": FixedTeacher,
    "mean-teacher": MeanTeacher,
    "vat": VirtualAdversary,
}
