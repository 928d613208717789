"""The bidirectional language model: against PyTorch's LSTM, the context of each direction, and the
mixture of layers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from adaptner.methods.stm_elmo.bidirectional_lm import LAYERS, BidirectionalLM, LayerMix
from adaptner.nn.batching.word_batch import WordBatch, WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.rnn.bidirectional import BiLSTM
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors

HIDDEN = 5
LETTERS = "abcdefgh"


@pytest.fixture
def batcher() -> WordBatcher:
    return WordBatcher(WordVectors(("ab", "cd"), torch.zeros(2, 3).numpy()), LETTERS)


@pytest.fixture
def model() -> BidirectionalLM:
    return BidirectionalLM(len(LETTERS) + 2, HIDDEN, torch.Generator().manual_seed(3)).double()


def batch_of(batcher: WordBatcher, *texts: str) -> WordBatch:
    return batcher([[Sentence.from_tokens(text.split()) for text in texts]])


def halves(states: Tensor) -> tuple[Tensor, Tensor]:
    return states[0, 0, :, :HIDDEN], states[0, 0, :, HIDDEN:]


@torch.no_grad()
def test_each_direction_reads_its_own_context_only(model, batcher):
    before = model(batch_of(batcher, "ab cd ef gh ab"))
    after = model(batch_of(batcher, "ab cd hhh gh ab"))  # another word in the middle
    for one, other in zip(before[1:], after[1:], strict=True):
        (forward, backward), (new_forward, new_backward) = halves(one), halves(other)
        assert torch.equal(forward[:2], new_forward[:2])
        assert torch.equal(backward[3:], new_backward[3:])
        for place in (2, 3, 4):
            assert not torch.equal(forward[place], new_forward[place])
        for place in (0, 1, 2):
            assert not torch.equal(backward[place], new_backward[place])
    changed = (before[0] != after[0]).any(-1)[0, 0]
    assert changed.tolist() == [False, False, True, False, False]  # characters have no context


def pytorch_lstm(layer: BiLSTM, direction: int) -> nn.LSTM:
    found = nn.LSTM(layer.input_weight.shape[-1], HIDDEN, batch_first=True).double()
    with torch.no_grad():
        found.weight_ih_l0.copy_(layer.input_weight[0, direction])
        found.weight_hh_l0.copy_(layer.recurrent_weight[0, direction])
        found.bias_ih_l0.copy_(layer.bias[0, direction])
        found.bias_hh_l0.zero_()
    return found


@torch.no_grad()
def test_layers_equal_two_lstms_of_pytorch_in_each_direction(model, batcher):
    characters, lower, upper = model(batch_of(batcher, "ab cd ef gh", "gh ab"))
    for row, length in ((0, 4), (1, 2)):
        words = characters[0, row, :length]
        assert torch.equal(words[:, :HIDDEN], words[:, HIDDEN:])
        for direction, half in ((0, slice(0, HIDDEN)), (1, slice(HIDDEN, None))):
            inputs = words[:, :HIDDEN] if direction == 0 else words[:, :HIDDEN].flip(0)
            first, _ = pytorch_lstm(model.lower, direction)(inputs[None])
            second, _ = pytorch_lstm(model.upper, direction)(first)
            for found, expected in ((lower, first[0]), (upper, (first + second)[0])):
                in_order = expected if direction == 0 else expected.flip(0)
                torch.testing.assert_close(found[0, row, :length, half], in_order)
    for layer in (characters, lower, upper):
        assert not layer[0, 1, 2:].any()  # padding


@torch.no_grad()
def test_other_sentences_of_the_batch_change_nothing(model, batcher):
    alone = model(batch_of(batcher, "ab cd"))
    together = model(batch_of(batcher, "gh ef ab cd ef", "ab cd"))
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(one[0, 0], other[0, 1, :2])


def test_mixture_is_equation_1_of_peters():
    """ELMo_k = γ Σ_j s_j h_kj with s = softmax(w), for each task."""
    random = torch.Generator().manual_seed(1)
    layers = [torch.randn(2, 2, 3, 4, generator=random) for _ in range(LAYERS)]
    weights, gamma = torch.randn(2, LAYERS, generator=random), torch.tensor([0.7, -1.3])
    found = torch.func.functional_call(LayerMix(), {"weights": weights, "gamma": gamma}, (layers,))
    for task in range(2):
        total = math.fsum(math.exp(w) for w in weights[task].tolist())
        expected = torch.zeros(2, 3, 4)
        for j in range(LAYERS):
            expected += math.exp(float(weights[task, j])) / total * layers[j][task]
        torch.testing.assert_close(found[task], float(gamma[task]) * expected)


def test_encoder_reads_the_states_without_training_the_model(batcher):
    shape = EncoderConfig(char_lstm=0, hidden=4, language_model_width=HIDDEN, dropout=0.0)
    encoder = RecurrentEncoder(shape, batcher, torch.Generator().manual_seed(0))
    assert encoder.recurrent.input_weight.shape[-1] == 3 + 50 + 2 * HIDDEN
    batch = batch_of(batcher, "ab cd ab", "cd")
    states = encoder(batch)
    assert states.shape == (1, 2, 3, 8)
    states.sum().backward()
    assert all(p.grad is None for p in encoder.language_model.parameters())
    assert all(p.grad is not None for p in encoder.mix.parameters())
    with torch.no_grad():  # γ = 0 removes the language model's states from the inputs
        encoder.mix.gamma.zero_()
        plain = RecurrentEncoder(
            shape.model_copy(update={"language_model_width": 0}), batcher, torch.Generator()
        )
        tensors = {k: v for k, v in encoder.state_dict().items() if k in plain.state_dict()}
        tensors["recurrent.input_weight"] = encoder.recurrent.input_weight[..., :53]
        plain.load_state_dict(tensors)
        torch.testing.assert_close(encoder(batch), plain(batch))


def test_settings_of_an_encoder_without_language_model_do_not_mention_it():
    """So earlier versions can read its folder, and jobs keep their keys."""
    assert "language_model_width" not in EncoderConfig().model_dump()
    settings = EncoderConfig(language_model_width=7).model_dump(mode="json")
    assert settings["language_model_width"] == 7
    assert EncoderConfig(**settings).language_model_width == 7
