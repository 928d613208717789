"""The recurrent encoder: the states of a sentence depend on that sentence alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors

WORDS = ("the", "gene", "p53", "is", "mutated")
VECTORS = WordVectors(WORDS, np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))
SMALL = EncoderConfig(
    char_embedding=3, char_cnn_widths=(2, 3), char_cnn_filters=2, char_lstm=4, hidden=3
)
SENTENCES = [
    Sentence.from_tokens(text.split())
    for text in (
        "the gene",
        "p53 is mutated in " + "x" * 90,
        "Ω",
        "the p53 gene is mutated the p53 gene",
    )
]


def build(config: EncoderConfig = SMALL, seed: int = 0) -> tuple[RecurrentEncoder, WordBatcher]:
    batcher = WordBatcher(VECTORS, "aegimnpst53du")
    encoder = RecurrentEncoder(config, batcher, torch.Generator().manual_seed(seed))
    return encoder.double(), batcher


def alone(encoder: RecurrentEncoder, batcher: WordBatcher, sentence: Sentence) -> Tensor:
    return encoder(batcher([[sentence]]))[0, 0]


VARIANTS = {
    "lstm": SMALL,
    "gru": SMALL.model_copy(update={"recurrent": "gru"}),
    "tuned": SMALL.model_copy(update={"tune_words": True}),
    "no character cnn": SMALL.model_copy(update={"char_cnn_filters": 0}),
    "no character lstm": SMALL.model_copy(update={"char_lstm": 0}),
    "wide": SMALL.model_copy(update={"lexical_features": True}),
    "words only": SMALL.model_copy(update={"char_cnn_filters": 0, "char_lstm": 0}),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_states_do_not_depend_on_other_sentences_or_padding(variant):
    """Alone, with others, in another order, or together with a task of longer sentences."""
    encoder, batcher = build(VARIANTS[variant])
    expected = [alone(encoder, batcher, s) for s in SENTENCES]
    shifted = SENTENCES[1:] + SENTENCES[:1]
    longer = [Sentence.from_tokens(f"w{i}" for i in range(12 - n)) for n in range(4)]
    for tasks in ([SENTENCES], [shifted], [longer, SENTENCES], [shifted, longer]):
        batch = batcher(tasks)
        parameters = {n: p.expand(len(tasks), *p.shape[1:]) for n, p in encoder.named_parameters()}
        states = torch.func.functional_call(encoder, parameters, (batch,))
        assert states.shape[-1] == encoder.width
        for g, task in enumerate(tasks):
            for i, original in enumerate(batch.order[g]):
                sentence = task[original]
                if sentence in SENTENCES:
                    truth = expected[SENTENCES.index(sentence)]
                    found = states[g, i, : len(sentence)]
                    torch.testing.assert_close(found, truth, atol=1e-12, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_parameter_is_used(variant):
    """An unused parameter would make the inner loop's gradient fail."""
    encoder, batcher = build(VARIANTS[variant])
    states = encoder(batcher([SENTENCES]))
    gradients = torch.autograd.grad(states.square().sum(), [*encoder.parameters()])
    for (name, _), gradient in zip(encoder.named_parameters(), gradients, strict=True):
        assert gradient.abs().max() > 0, name


def test_default_sizes_are_those_of_hgda():
    wide = WordVectors(("a",), np.zeros((1, 200), dtype=np.float32))
    batcher = WordBatcher(wide, "ab")
    encoder = RecurrentEncoder(EncoderConfig(), batcher, torch.Generator().manual_seed(0))
    assert encoder.recurrent.input_weight.shape == (1, 2, 4 * 128, 300)
    assert encoder.width == 256
    assert encoder(batcher([[Sentence.from_tokens(["a", "b"])]])).shape == (1, 1, 2, 256)
    assert EncoderConfig().dropout == 0.2


def test_unknown_words_differ_only_by_characters():
    encoder, batcher = build()
    same = [alone(encoder, batcher, Sentence.from_tokens([w])) for w in ("ΩΩ", "ΨΨ")]
    assert torch.equal(*same)
    other = alone(encoder, batcher, Sentence.from_tokens(["Ω5"]))
    assert not torch.allclose(same[0], other)


def test_words_found_in_lower_case_keep_their_characters():
    encoder, batcher = build()
    lower, upper = (alone(encoder, batcher, Sentence.from_tokens([w])) for w in ("gene", "GENE"))
    assert not torch.allclose(lower, upper)


def test_dropout_needs_noise_and_is_reproducible():
    encoder, batcher = build(SMALL.model_copy(update={"dropout": 0.5}))
    batch = batcher([SENTENCES])
    assert torch.equal(encoder(batch), encoder(batch))
    noisy = [encoder(batch, torch.Generator().manual_seed(n)) for n in (1, 1, 2)]
    assert torch.equal(noisy[0], noisy[1])
    assert not torch.equal(noisy[0], noisy[2])
    share = (noisy[0][batch.mask] == 0).double().mean()
    assert 0.3 < share < 0.7
    still = build(SMALL.model_copy(update={"dropout": 0.0}))[0]
    assert torch.equal(still(batch, torch.Generator().manual_seed(1)), still(batch))


def test_dropout_keeps_the_mean():
    from adaptner.nn.rnn.parameters import dropout

    values = torch.ones(200_000)
    found = dropout(values, 0.2, torch.Generator().manual_seed(0))
    assert set(found.unique().tolist()) == {0.0, 1.25}
    assert found.mean().item() == pytest.approx(1, abs=5e-3)


def test_copies_share_only_frozen_vectors():
    encoder, _ = build()
    twin = copy.deepcopy(encoder)
    assert twin.words._table is VECTORS.table
    ours = {p.data_ptr() for p in encoder.parameters()}
    assert not ours & {p.data_ptr() for p in twin.parameters()}


def test_same_seed_gives_the_same_encoder():
    one, two, other = (build(seed=s)[0].state_dict() for s in (1, 1, 2))
    assert all(torch.equal(one[n], two[n]) for n in one)
    assert not any(torch.equal(one[n], other[n]) for n in one)


def test_odd_width_of_the_character_lstm_raises():
    """Both directions have the same width, so 5 would become 4."""
    with pytest.raises(ValidationError):
        EncoderConfig(char_lstm=5)
