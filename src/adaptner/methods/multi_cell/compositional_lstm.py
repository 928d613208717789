"""A bidirectional LSTM with a cell for every entity type and one that puts them together (Jia and
Zhang 2020)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor

from adaptner.nn.rnn.bidirectional import BidirectionalLayer
from adaptner.nn.rnn.packing import Packing
from adaptner.nn.rnn.parameters import fan_in_bound

CellObserver = Callable[[Tensor, Tensor, Packing], None]


class CompositionalLSTM(BidirectionalLayer):
    """Each of K typed cells has an input gate and a candidate; the composing cell has both and the
    output gate. All read the word and the state before it."""

    def __init__(self, inputs: int, hidden: int, cells: int, generator: Generator) -> None:
        self.gates = 2 * cells + 3
        super().__init__(inputs, hidden, generator)
        self.cells = cells
        self.attention = fan_in_bound((1, 2, hidden, hidden), hidden, generator)
        self._listener: CellObserver | None = None

    def scan(self, inputs: Tensor, packing: Packing) -> Tensor:
        states, typed, shares = self._scan(inputs, packing)
        if self._listener is not None:
            self._listener(typed, shares, packing)
        return states

    @contextmanager
    def heard_by(self, listener: CellObserver) -> Iterator[None]:
        """Within, ``listener`` is told at every pass what each cell would have said, (G, 2, N, K, H),
        and how much of it was taken, (G, 2, N, K)."""
        self._listener = listener
        try:
            yield
        finally:
            self._listener = None

    def _scan(self, inputs: Tensor, packing: Packing) -> tuple[Tensor, Tensor, Tensor]:
        weight = self.recurrent_weight.flatten(0, 1).transpose(1, 2)
        attention = self.attention.flatten(0, 1)
        hidden = weight.shape[1]
        found: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
        cell = state = inputs.new_zeros(len(inputs), packing.sizes[0], hidden)
        for gate in inputs.split(packing.sizes, 1):
            size = gate.shape[1]
            cell, state = cell[:, :size], state[:, :size]
            gate = (gate + torch.bmm(state, weight)).unflatten(-1, (-1, hidden))
            own, together = gate[:, :, : 2 * self.cells], gate[:, :, 2 * self.cells :]
            typed = _coupled(own[:, :, : self.cells], own[:, :, self.cells :], cell[:, :, None])
            draft = _coupled(together[:, :, 0], together[:, :, 1], cell)
            scores = torch.einsum("dnh,dnkh->dnk", torch.bmm(draft, attention), typed)
            share = scores.softmax(-1)
            cell = torch.einsum("dnk,dnkh->dnh", share, typed)
            output = together[:, :, 2].sigmoid()
            state = output * cell.tanh()
            for kept, value in zip(
                found, (state, output[:, :, None] * typed.tanh(), share), strict=True
            ):
                kept.append(value)
        states, typed, shares = (torch.cat(kept, 1).unflatten(0, (-1, 2)) for kept in found)
        return states, typed, shares


def _coupled(gate: Tensor, candidate: Tensor, before: Tensor) -> Tensor:
    """What is let in is what is forgotten of the cell before."""
    share = gate.sigmoid()
    return share * candidate.tanh() + (1 - share) * before
