"""Bidirectional layers and LSTM over the distinct symbols (words or characters) of each task."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.rnn.lstm_scan import lstm_scan
from adaptner.nn.rnn.packing import Packing
from adaptner.nn.rnn.parameters import fan_in_parameter
from adaptner.nn.rnn.projection import project


class BidirectionalLayer(nn.Module, ABC):
    """Holds the weights of both directions: W_ih (G, 2, gates x H, D), W_hh (G, 2, gates x H, H), b."""

    gates: int

    def __init__(self, inputs: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        rows = self.gates * hidden
        self.input_weight = fan_in_parameter((1, 2, rows, inputs), hidden, generator)
        self.recurrent_weight = fan_in_parameter((1, 2, rows, hidden), hidden, generator)
        self.bias = fan_in_parameter((1, 2, rows), hidden, generator)
        self.width = 2 * hidden

    def forward(self, symbols: Tensor, index: Tensor, packing: Packing, frozen: int = 0) -> Tensor:
        """States (G, 2, N, H) of both directions. ``symbols`` (G, S, D) are the distinct symbols, and
        ``index`` (G, B, L) says which of them stands where. The first ``frozen`` numbers of a symbol
        need no gradient."""
        projected = self.project_symbols(symbols, frozen)
        return self.scan(self.place_symbols(projected, index, packing), packing)

    @abstractmethod
    def scan(self, inputs: Tensor, packing: Packing) -> Tensor:
        """The states (G, 2, N, H) for ``inputs`` (2G, N, gates x H), W_ih x + b at every slot, or
        (2, N', gates x H) if ``scans_jointly``."""

    def project_symbols(self, symbols: Tensor, frozen: int = 0) -> Tensor:
        """W_ih x + b of each distinct symbol, (G, S, 2 x gates x H)."""
        return project(symbols, self.input_weight.flatten(1, 2), self.bias.flatten(1), frozen)

    def place_symbols(self, projected: Tensor, index: Tensor, packing: Packing) -> Tensor:
        """The rows of ``projected`` (G, S, 2 x gates x H) at every slot: the ``inputs`` of ``scan``."""
        tasks, directions, rows, _ = self.input_weight.shape
        count = projected.shape[1]
        here = index.flatten(1).gather(1, packing.places.flatten(1)).view(packing.places.shape)
        task = torch.arange(tasks, device=here.device)[:, None, None] * count
        flat = 2 * (task + here) + torch.arange(directions, device=here.device)[:, None]
        if self.scans_jointly():
            flat = flat.flatten()[packing.joint.slots]
        slots = projected.view(-1, rows).index_select(0, flat.flatten())
        return slots.view(-1, flat.shape[-1], rows)

    def scans_jointly(self) -> bool:
        """Whether ``scan`` takes the inputs of all tasks together, in the slots of ``packing.joint``."""
        return False


class BiLSTM(BidirectionalLayer):
    gates = 4

    def scans_jointly(self) -> bool:
        # the start of an inner loop, expanded without a copy: a matrix of many rows is multiplied twice
        # as fast as the same rows in several matrices
        return len(self.recurrent_weight) > 1 and self.recurrent_weight.stride(0) == 0

    def scan(self, inputs: Tensor, packing: Packing) -> Tensor:
        states = lstm_scan(inputs, self.recurrent_weight.flatten(0, 1), packing)
        return states.view(-1, 2, *states.shape[1:])

    def next_layer(self, states: Tensor, packing: Packing) -> Tensor:
        """The states (G, 2, N, H) of this layer over the states (G, 2, N, D) of the layer below.

        Each direction reads only its own direction, so forward states never depend on later tokens."""
        weight, bias = self.input_weight.flatten(0, 1), self.bias.flatten(0, 1)[:, None]
        inputs = torch.baddbmm(bias, states.flatten(0, 1), weight.transpose(1, 2))
        upper = lstm_scan(inputs, self.recurrent_weight.flatten(0, 1), packing)
        return upper.view(-1, 2, *upper.shape[1:])
