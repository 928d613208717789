"""Character CNN and LSTM against torch.nn, one word at a time."""

from __future__ import annotations

import pytest
import torch
from builders import random_tensor
from torch import Tensor, nn
from torch.nn import functional as F

from adaptner.nn.encoders.char_cnn import CharCNN
from adaptner.nn.encoders.char_lstm import CharLSTM
from adaptner.nn.rnn.packing import Packing

EMBEDDED, FILTERS, LETTERS = 3, 4, 6
# Two tasks of words, longest first, 0 = padding; the last word of the second task is padding.
CHARS = torch.tensor(
    [
        [[2, 3, 4, 5, 1], [5, 5, 2, 0, 0], [3, 0, 0, 0, 0]],
        [[1, 2, 0, 0, 0], [4, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
    ]
)
LENGTHS = torch.tensor([[5, 3, 1], [2, 1, 1]])
PACKING = Packing.of(LENGTHS, 5)


def varied(module: nn.Module, tasks: int) -> dict[str, Tensor]:
    """Different parameters for each task."""
    return {
        n: random_tensor(tasks, *p.shape[1:], seed=20 + i).requires_grad_()
        for i, (n, p) in enumerate(module.named_parameters())
    }


@pytest.mark.parametrize("widths", [(1,), (3,), (2, 3, 4, 5)])
def test_cnn_equals_convolution_and_maximum(widths):
    cnn = CharCNN(EMBEDDED, widths, FILTERS, torch.Generator().manual_seed(0))
    assert cnn.width == FILTERS * len(widths)
    parameters = varied(cnn, 2)
    alphabet = random_tensor(2, LETTERS, EMBEDDED, seed=1).requires_grad_()
    found = torch.func.functional_call(cnn, parameters, (alphabet, CHARS, PACKING))
    assert found.shape == (2, 3, cnn.width)

    expected = torch.zeros_like(found)
    for g in range(2):
        for w in range(3):
            word = CHARS[g, w, : LENGTHS[g, w]]
            seen = torch.where((word == 0)[:, None], 0.0, alphabet[g][word])
            parts = []
            for number, width in enumerate(widths):
                conv = parameters[f"weights.{number}"][g].permute(2, 1, 0)  # (filters, E, width)
                left = (width - 1) // 2
                padded = F.pad(seen.T[None], (left, width - 1 - left))
                values = F.conv1d(padded, conv, parameters[f"biases.{number}"][g])
                parts.append(values[0].max(1).values)
            expected[g, w] = torch.cat(parts)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)

    pull = random_tensor(*found.shape, seed=2)
    wanted = [alphabet, *parameters.values()]
    torch.testing.assert_close(
        torch.autograd.grad(found, wanted, pull), torch.autograd.grad(expected, wanted, pull)
    )


def test_padding_does_not_influence_the_cnn():
    cnn = CharCNN(EMBEDDED, (3,), FILTERS, torch.Generator().manual_seed(0)).double()
    alphabet = random_tensor(1, LETTERS, EMBEDDED, seed=1)
    single = Packing.of(LENGTHS[:1], 5)
    found = cnn(alphabet, CHARS[:1], single)
    louder = alphabet.clone()
    louder[:, 0] = 1e6
    assert torch.equal(cnn(louder, CHARS[:1], single), found)
    wider = cnn(alphabet, F.pad(CHARS[:1], (0, 4)), Packing.of(LENGTHS[:1], 9))
    torch.testing.assert_close(wider, found)


def test_lstm_equals_last_states_of_torch():
    lstm = CharLSTM(EMBEDDED, 8, torch.Generator().manual_seed(0))
    parameters = varied(lstm, 2)
    alphabet = random_tensor(2, LETTERS, EMBEDDED, seed=1).requires_grad_()
    found = torch.func.functional_call(lstm, parameters, (alphabet, CHARS, PACKING))
    assert found.shape == (2, 3, lstm.width) == (2, 3, 8)
    expected = torch.zeros_like(found)
    for g in range(2):
        own = nn.LSTM(EMBEDDED, 4, bidirectional=True).double()
        values = {}
        for d, suffix in enumerate(("", "_reverse")):
            values[f"weight_ih_l0{suffix}"] = parameters["lstm.input_weight"][g, d]
            values[f"weight_hh_l0{suffix}"] = parameters["lstm.recurrent_weight"][g, d]
            values[f"bias_ih_l0{suffix}"] = parameters["lstm.bias"][g, d]
            values[f"bias_hh_l0{suffix}"] = torch.zeros(16, dtype=torch.float64)
        for w in range(3):
            word = alphabet[g][CHARS[g, w, : LENGTHS[g, w]]]
            _, (last, _) = torch.func.functional_call(own, values, (word,))
            expected[g, w] = last.flatten()
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
    pull = random_tensor(*found.shape, seed=2)
    wanted = [alphabet, *parameters.values()]
    torch.testing.assert_close(
        torch.autograd.grad(found, wanted, pull), torch.autograd.grad(expected, wanted, pull)
    )
