"""What θ can learn from a batch of raw text. Each lesson is an ω of its own; their losses are summed."""

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
from adaptner.nn.heads.label_name_head import BORDER_BEGIN, BORDER_INSIDE, LabelNameHead, WeakLabels
from adaptner.nn.rnn.parameters import fan_in_parameter
from adaptner.pretraining.cloze_head import ClozeHead
from adaptner.pretraining.gazetteer import Gazetteer
from adaptner.pretraining.teacher import TransformerTeacher
from adaptner.types import Sentence

_MEASURED_ON = 128  # sentences, for what is usual among the teacher's states


@dataclass(frozen=True)
class PretrainingBatch:
    """A batch of one task, its sentences in its order, and θ's states (B, L, width) of it."""

    sentences: Sequence[Sentence]
    batch: WordBatch
    states: Tensor
    words: Tensor  # the vectors of the distinct words
    noise: Generator

    @property
    def read(self) -> Tensor:
        """The states as a linear φ will read them (``nn/encoders/lexical_features.py``)."""
        return STATE_LENGTH * F.normalize(self.states, dim=-1)


class ClozeObjective(nn.Module):
    """Guess a word from both sides of it (``pretraining/cloze_head.py``)."""

    def __init__(self, width: int, vectors: int, most: int, generator: Generator) -> None:
        super().__init__()
        self.head = ClozeHead(width, vectors, generator)
        self.most = most

    def forward(self, seen: PretrainingBatch) -> Tensor:
        return self.head(seen.states[None], seen.batch, seen.words, self.most, seen.noise)


class LabelNameObjective(nn.Module):
    """Tell which names the text itself gives to what is read (``pretraining/gazetteer.py``)."""

    def __init__(self, width: int, gazetteer: Gazetteer, generator: Generator) -> None:
        super().__init__()
        self.gazetteer = gazetteer
        self.head = LabelNameHead(width, len(gazetteer.names), generator)

    def forward(self, seen: PretrainingBatch) -> Tensor:
        places, labels = weak_labels(self.gazetteer, seen.sentences, seen.states.shape[1])
        read = seen.read.flatten(0, 1)
        return self.head(read[places.to(read.device)], on_device(labels, read.device), seen.noise)


def weak_labels(
    gazetteer: Gazetteer, sentences: Sequence[Sentence], length: int
) -> tuple[Tensor, WeakLabels]:
    """The places, in the flattened (B, ``length``), of the tokens that something is known of."""
    borders = np.full((len(sentences), length), -1)
    called: list[tuple[int, int, tuple[str, ...]]] = []
    for row, sentence in enumerate(sentences):
        words = [word.lower() for word in sentence.tokens]
        spans = gazetteer.spans(words)
        borders[row, : len(words)] = 0
        borders[row, list(gazetteer.unsure(words, spans))] = -1
        for start, end in spans:
            borders[row, start] = BORDER_BEGIN
            borders[row, start + 1 : end] = BORDER_INSIDE
            called += [(row, i, tuple(words[start:end])) for i in range(start, end)]
    known = borders >= 0
    number = np.cumsum(known).reshape(known.shape) - 1
    pairs = [(number[row, i], *gazetteer.kinds[phrase]) for row, i, phrase in called]
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
    """Tell what a larger network, which has read far more, makes of a word where it stands."""

    def __init__(
        self,
        width: int,
        teacher: TransformerTeacher,
        most: int,
        some: Iterable[Sentence],
        generator: Generator,
    ) -> None:
        """``most`` sentences of a batch are followed; ``some`` tell the mean and the spread of the
        teacher's states, so that each of its numbers counts alike."""
        super().__init__()
        self.teacher, self.most = teacher, most
        self.weight = fan_in_parameter((teacher.width, width), width, generator)
        self.bias = fan_in_parameter((teacher.width,), width, generator)
        usual = torch.cat(teacher.states(list(islice(some, _MEASURED_ON))))
        self.middle, self.spread = usual.mean(0), usual.std(0).clamp(min=1e-6)

    def forward(self, seen: PretrainingBatch) -> Tensor:
        """Mean squared error, over that of always telling the mean."""
        drawn = torch.randperm(len(seen.sentences), generator=seen.noise, device=seen.noise.device)
        rows = drawn[: self.most].tolist()
        taught = self.teacher.states([seen.sentences[row] for row in rows])
        wanted = (torch.cat(taught) - self.middle) / self.spread
        read = seen.read
        found = torch.cat([read[row, : len(t)] for row, t in zip(rows, taught, strict=True)])
        return F.mse_loss(F.linear(found, self.weight, self.bias), wanted)
