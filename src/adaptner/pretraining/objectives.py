"""Objectives of pretraining on raw text, each with its own auxiliary head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.batching.batch import on_device
from adaptner.nn.batching.word_batch import WordBatch
from adaptner.nn.encoders.lexical_features import STATE_LENGTH
from adaptner.nn.heads.label_name_head import LabelNameHead, WeakLabels
from adaptner.nn.heads.label_probes import BORDER_BEGIN, BORDER_INSIDE
from adaptner.nn.rnn.parameters import fan_in_parameter
from adaptner.pretraining.cloze_head import ClozeHead
from adaptner.pretraining.gazetteer import Gazetteer
from adaptner.pretraining.teacher import TransformerTeacher
from adaptner.types import Sentence

_STATISTICS_SENTENCES = 128  # for mean and standard deviation of the teacher's states


@dataclass(frozen=True)
class PretrainingBatch:
    """A batch of one task, its sentences in order, and the encoder's states (B, L, width)."""

    sentences: Sequence[Sentence]
    batch: WordBatch
    states: Tensor
    words: Tensor  # vectors of the distinct words
    noise: Generator

    @property
    def decoder_input(self) -> Tensor:
        """States as a linear decoder reads them (``nn/encoders/lexical_features.py``)."""
        return STATE_LENGTH * F.normalize(self.states, dim=-1)


class ClozeObjective(nn.Module):
    """Predicts a word from the states on both sides (``pretraining/cloze_head.py``)."""

    def __init__(self, width: int, vectors: int, most: int, generator: Generator) -> None:
        super().__init__()
        self.head = ClozeHead(width, vectors, generator)
        self.most = most

    def forward(self, batch: PretrainingBatch) -> Tensor:
        return self.head(batch.states[None], batch.batch, batch.words, self.most, batch.noise)


class LabelNameObjective(nn.Module):
    """Predicts the names of instances in the text (``pretraining/gazetteer.py``)."""

    def __init__(self, width: int, gazetteer: Gazetteer, generator: Generator) -> None:
        super().__init__()
        self.gazetteer = gazetteer
        self.head = LabelNameHead(width, len(gazetteer.names), generator)

    def forward(self, batch: PretrainingBatch) -> Tensor:
        positions, labels = weak_labels(self.gazetteer, batch.sentences, batch.states.shape[1])
        states = batch.decoder_input.flatten(0, 1)
        device = states.device
        return self.head(states[positions.to(device)], on_device(labels, device), batch.noise)


def weak_labels(
    gazetteer: Gazetteer, sentences: Sequence[Sentence], length: int
) -> tuple[Tensor, WeakLabels]:
    """Returns the positions of labelled tokens in the flattened (B, ``length``) and their labels."""
    borders = np.full((len(sentences), length), -1)
    instances: list[tuple[int, int, tuple[str, ...]]] = []
    for row, sentence in enumerate(sentences):
        words = [word.lower() for word in sentence.tokens]
        spans = gazetteer.spans(words)
        borders[row, : len(words)] = 0
        borders[row, list(gazetteer.uncertain_neighbours(words, spans))] = -1
        for start, end in spans:
            borders[row, start] = BORDER_BEGIN
            borders[row, start + 1 : end] = BORDER_INSIDE
            instances += [(row, i, tuple(words[start:end])) for i in range(start, end)]
    known = borders >= 0
    number = np.cumsum(known).reshape(known.shape) - 1
    pairs = [(number[row, i], *gazetteer.kinds[phrase]) for row, i, phrase in instances]
    empty = np.zeros(0, dtype=np.int64)
    tokens = [np.full(len(names), token) for token, names, _ in pairs]
    labels = WeakLabels(
        borders=torch.from_numpy(borders[known]),
        tokens=torch.from_numpy(np.concatenate([empty, *tokens])),
        names=torch.from_numpy(np.concatenate([empty, *(names for _, names, _ in pairs)])),
        shares=torch.from_numpy(
            np.concatenate([empty.astype(np.float32), *(shares for _, _, shares in pairs)])
        ),
    )
    return torch.from_numpy(np.flatnonzero(known)), labels


class DistillationObjective(nn.Module):
    """Predicts the states of a larger network, the teacher, for each word."""

    def __init__(
        self,
        width: int,
        teacher: TransformerTeacher,
        most: int,
        sample: Iterable[Sentence],
        generator: Generator,
    ) -> None:
        """``most`` sentences of a batch are used. The teacher's states are standardised with their
        statistics on ``sample``, so that all dimensions have the same weight."""
        super().__init__()
        self.teacher, self.most = teacher, most
        self.weight = fan_in_parameter((teacher.width, width), width, generator)
        self.bias = fan_in_parameter((teacher.width,), width, generator)
        states = torch.cat(teacher.states(list(islice(sample, _STATISTICS_SENTENCES))))
        self.mean, self.deviation = states.mean(0), states.std(0).clamp(min=1e-6)

    def forward(self, batch: PretrainingBatch) -> Tensor:
        """Returns the mean squared error relative to that of predicting the mean."""
        permutation = torch.randperm(
            len(batch.sentences), generator=batch.noise, device=batch.noise.device
        )
        rows = permutation[: self.most].tolist()
        teacher_states = self.teacher.states([batch.sentences[row] for row in rows])
        targets = (torch.cat(teacher_states) - self.mean) / self.deviation
        lengths = [len(states) for states in teacher_states]
        states = torch.cat([batch.decoder_input[r, :n] for r, n in zip(rows, lengths, strict=True)])
        return F.mse_loss(F.linear(states, self.weight, self.bias), targets)
