"""A frozen pretrained transformer whose states are the targets of distillation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Generator, Tensor

from adaptner.compute import CPU
from adaptner.nn.encoders.config import TransformerConfig
from adaptner.nn.encoders.transformer.encoder import TransformerEncoder
from adaptner.nn.encoders.transformer.pretrained import find_pretrained
from adaptner.nn.encoders.transformer.subwords import subword_batcher
from adaptner.types import Sentence


class TransformerTeacher:
    """A transformer of which ``layers`` layers are used; middle layers represent context best."""

    def __init__(self, name: str, layers: int, device: torch.device = CPU) -> None:
        config = TransformerConfig(name=name, subwords="mean", dropout=0, network_dropout=False)
        self._batcher = subword_batcher(config, replace(find_pretrained(name), layers=layers))
        self._encoder = TransformerEncoder(config, self._batcher, Generator()).to(device)
        self.width = self._encoder.width

    @torch.no_grad()
    def states(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        """Returns the states (words, width) of each sentence."""
        batch = self._batcher([sentences]).to(self._encoder.device)
        states: list[Tensor] = [torch.empty(0)] * len(sentences)
        for row, index in zip(self._encoder(batch)[0], batch.order[0], strict=True):
            states[index] = row[: len(sentences[index])]
        return states
