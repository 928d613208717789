"""Character LSTM: the last states of both directions over the characters of a word."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.rnn.bidirectional import BiLSTM
from adaptner.nn.rnn.packing import Packing


class CharLSTM(nn.Module):
    def __init__(self, embedded: int, width: int, generator: Generator) -> None:
        super().__init__()
        self.lstm = BiLSTM(embedded, width // 2, generator)
        self.width = width

    def forward(self, alphabet: Tensor, chars: Tensor, packing: Packing) -> Tensor:
        """States (G, W, width) of words. ``alphabet`` (G, A, E) is embedded, ``chars`` (G, W, C) are
        character ids, longest word first."""
        states = self.lstm(alphabet, chars, packing)
        task = torch.arange(len(states), device=states.device)[:, None]
        return torch.cat([states[task, d, packing.last] for d in (0, 1)], -1)
