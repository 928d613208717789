"""A bidirectional LSTM with a cell for every entity type and one that composes them (Jia and Zhang
2020)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor

from adaptner.nn.rnn.bidirectional import BidirectionalLayer
from adaptner.nn.rnn.packing import Packing
from adaptner.nn.rnn.parameters import fan_in_parameter

CellObserver = Callable[[Tensor, Tensor, Packing], None]


class CompositionalLSTM(BidirectionalLayer):
    """Each of K typed cells has an input gate and a candidate; the composing cell has both and the
    output gate. All of them read the word and the previous state."""

    def __init__(self, inputs: int, hidden: int, cells: int, generator: Generator) -> None:
        self.gates = 2 * cells + 3
        super().__init__(inputs, hidden, generator)
        self.cells = cells
        self.attention = fan_in_parameter((1, 2, hidden, hidden), hidden, generator)
        self._observer: CellObserver | None = None

    def scan(self, inputs: Tensor, packing: Packing) -> Tensor:
        states, typed, shares = self._scan(inputs, packing)
        if self._observer is not None:
            self._observer(typed, shares, packing)
        return states

    @contextmanager
    def observe_cells(self, observer: CellObserver) -> Iterator[None]:
        """Within the context, each pass calls ``observer`` with the state that each cell alone would
        give, (tasks, 2, tokens, K, hidden), and the attention to it, (tasks, 2, tokens, K)."""
        self._observer = observer
        try:
            yield
        finally:
            self._observer = None

    def _scan(self, inputs: Tensor, packing: Packing) -> tuple[Tensor, Tensor, Tensor]:
        weight = self.recurrent_weight.flatten(0, 1).transpose(1, 2)
        attention = self.attention.flatten(0, 1)
        hidden = weight.shape[1]
        outputs: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
        cell = state = inputs.new_zeros(len(inputs), packing.sizes[0], hidden)
        for gate in inputs.split(packing.sizes, 1):
            size = gate.shape[1]
            cell, state = cell[:, :size], state[:, :size]
            gate = (gate + torch.bmm(state, weight)).unflatten(-1, (-1, hidden))
            typed_gates, composing = gate[:, :, : 2 * self.cells], gate[:, :, 2 * self.cells :]
            entry, candidate = typed_gates[:, :, : self.cells], typed_gates[:, :, self.cells :]
            typed = _coupled(entry, candidate, cell[:, :, None])
            draft = _coupled(composing[:, :, 0], composing[:, :, 1], cell)
            scores = torch.einsum("dnh,dnkh->dnk", torch.bmm(draft, attention), typed)
            share = scores.softmax(-1)
            cell = torch.einsum("dnk,dnkh->dnh", share, typed)
            output = composing[:, :, 2].sigmoid()
            state = output * cell.tanh()
            step = (state, output[:, :, None] * typed.tanh(), share)
            for values, value in zip(outputs, step, strict=True):
                values.append(value)
        states, typed, shares = (torch.cat(each, 1).unflatten(0, (-1, 2)) for each in outputs)
        return states, typed, shares


def _coupled(gate: Tensor, candidate: Tensor, before: Tensor) -> Tensor:
    """The next cell. Input and forget gate are coupled: they add up to one."""
    share = gate.sigmoid()
    return share * candidate.tanh() + (1 - share) * before
