"""What a tagger learns from its own opinion: PDALN's teacher (eq. 11) and the two ways that its paper
puts in its place, Mean Teacher and virtual adversarial training.

Each is made at the start of a round and asked at every step for the second term of eq. 11.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal, Protocol

import torch
from torch import Generator, Tensor, nn

from adaptner.adaptation.batch_encoding import EncodedBatch, encode_lists
from adaptner.nn.batching.batch import Batcher
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.losses.distillation import distillation_loss
from adaptner.nn.losses.perturbation import virtual_adversary, word_layer
from adaptner.types import Sentence

SelfTrainingKind = Literal["teacher", "mean-teacher", "vat"]


class SelfTraining(Protocol):
    def term(self, sentences: Sequence[Sentence], student: EncodedBatch) -> Tensor:
        """The loss on ``sentences``, of which ``student`` is what the student makes."""


class FixedTeacher:
    """The student as it was at the start of the round; it does not move."""

    def __init__(
        self, encoder: nn.Module, decoder: CRF, batcher: Batcher, confidence: float
    ) -> None:
        self._student = encoder, decoder
        self._batcher = batcher
        self._confidence = confidence
        self.encoder, self.decoder = copy.deepcopy(encoder), copy.deepcopy(decoder)

    def term(self, sentences: Sequence[Sentence], student: EncodedBatch) -> Tensor:
        with torch.no_grad():
            (seen,) = encode_lists(self.encoder, self._batcher, self.decoder.labels, [sentences])
            says = self.decoder.log_marginals(seen.states, seen.mask).exp()
        thinks = self._student[1].log_marginals(student.states, student.mask)
        return distillation_loss(says, thinks, student.mask, self._confidence)


class MeanTeacher(FixedTeacher):
    """Follows the student, as the running mean of what it was (Tarvainen and Valpola 2017)."""

    def __init__(
        self,
        encoder: nn.Module,
        decoder: CRF,
        batcher: Batcher,
        confidence: float,
        keep: float,
    ) -> None:
        super().__init__(encoder, decoder, batcher, confidence)
        self._keep = keep

    def term(self, sentences: Sequence[Sentence], student: EncodedBatch) -> Tensor:
        with torch.no_grad():
            for mine, theirs in zip((self.encoder, self.decoder), self._student, strict=True):
                for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
                    p.lerp_(q, 1 - self._keep)
        return super().term(sentences, student)


class VirtualAdversary:
    """No teacher: what is said of a sentence is to stay the same when its word vectors move where that
    hurts most (Miyato et al. 2018)."""

    def __init__(
        self,
        encoder: nn.Module,
        decoder: CRF,
        batcher: Batcher,
        radius: float,
        generator: Generator,
    ) -> None:
        self._encoder, self._decoder = encoder, decoder
        self._batcher, self._radius, self._generator = batcher, radius, generator

    def term(self, sentences: Sequence[Sentence], student: EncodedBatch) -> Tensor:
        batch = self._batcher([sentences])

        def log_marginals() -> Tensor:
            return self._decoder.log_marginals(self._encoder(batch), batch.mask)

        layer = word_layer(self._encoder)
        return virtual_adversary(layer, log_marginals, batch.mask, self._radius, self._generator)
