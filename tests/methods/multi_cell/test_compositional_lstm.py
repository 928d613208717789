"""The compositional LSTM against its equations, one word, direction and cell at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from adaptner.methods.multi_cell.compositional_lstm import CompositionalLSTM
from adaptner.nn.rnn.packing import Packing

INPUTS, HIDDEN, CELLS = 3, 2, 4
LENGTHS = torch.tensor([[4, 3, 1]])


def layer(seed: int = 0) -> CompositionalLSTM:
    made = CompositionalLSTM(INPUTS, HIDDEN, CELLS, torch.Generator().manual_seed(seed))
    return made.double()


def words(seed: int = 1) -> tuple[Tensor, Tensor]:
    """Six distinct words and their positions in the sentences."""
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randn(1, 6, INPUTS, generator=generator, dtype=torch.float64)
    return symbols, torch.randint(6, (1, 3, 4), generator=generator)


def naive(made: CompositionalLSTM, sentence: list[Tensor], direction: int) -> list[Tensor]:
    """For each token of one sentence in one direction: the state, the state that each cell alone would
    give, and the attention to each cell (equations: docs/methods/multi-cell.md)."""
    weights = made.input_weight[0, direction], made.recurrent_weight[0, direction]
    bias, attention = made.bias[0, direction], made.attention[0, direction]
    cell = state = torch.zeros(HIDDEN, dtype=torch.float64)
    found = []
    order = sentence if direction == 0 else sentence[::-1]
    for x in order:
        rows = (weights[0] @ x + weights[1] @ state + bias).view(-1, HIDDEN)
        typed = []
        for k in range(CELLS):
            i = rows[k].sigmoid()
            typed.append(i * rows[CELLS + k].tanh() + (1 - i) * cell)
        i = rows[2 * CELLS].sigmoid()
        draft = i * rows[2 * CELLS + 1].tanh() + (1 - i) * cell
        scores = torch.stack([draft @ attention @ c for c in typed])
        share = scores.exp() / scores.exp().sum()
        cell = sum((a * c for a, c in zip(share, typed, strict=True)), torch.zeros_like(cell))
        output = rows[2 * CELLS + 2].sigmoid()
        state = output * cell.tanh()
        single = torch.stack([output * c.tanh() for c in typed])
        found.append(torch.cat([state, single.flatten(), share]))
    return found if direction == 0 else found[::-1]


def test_states_equal_those_of_single_sentences():
    made, (symbols, index) = layer(), words()
    packing = Packing.of(LENGTHS, 4)
    observed: list[Tensor] = []
    with made.observe_cells(
        lambda typed, shares, packing: observed.extend([typed.flatten(-2), shares])
    ):
        states = made(symbols, index, packing)
    outputs = packing.unpack(torch.cat([states, *observed], -1)).unflatten(-1, (2, -1))
    for b, length in enumerate(LENGTHS[0].tolist()):
        sentence = [symbols[0, index[0, b, t]] for t in range(length)]
        for direction in (0, 1):
            for t, expected in enumerate(naive(made, sentence, direction)):
                torch.testing.assert_close(outputs[0, b, t, direction], expected)


def test_tasks_side_by_side_give_the_states_of_single_tasks():
    first, second = layer(0), layer(1)
    names = [n for n, _ in first.named_parameters()]
    both = {n: torch.cat([dict(m.named_parameters())[n] for m in (first, second)]) for n in names}
    (one, here), (other, there) = words(1), words(2)
    lengths = torch.tensor([[4, 3, 1], [4, 2, 2]])
    together = torch.func.functional_call(
        first,
        both,
        (torch.cat([one, other]), torch.cat([here, there]), Packing.of(lengths, 4)),
    )
    for task, (made, symbols, index) in enumerate(((first, one, here), (second, other, there))):
        packing = Packing.of(lengths[task : task + 1], 4)
        alone = packing.unpack(made(symbols, index, packing))
        unpacked = Packing.of(lengths, 4).unpack(together)[task]
        mask = torch.arange(4) < lengths[task][:, None]
        torch.testing.assert_close(unpacked[mask], alone[0][mask])


def test_observer_is_removed_after_an_error():
    made, (symbols, index) = layer(), words()
    packing = Packing.of(LENGTHS, 4)
    observed: list[Tensor] = []
    with (
        pytest.raises(RuntimeError),
        made.observe_cells(lambda *values: observed.append(values[0])),
    ):
        raise RuntimeError
    made(symbols, index, packing)
    assert not observed
