"""Lexical features against a naive transcription, token by token."""

from __future__ import annotations

import numpy as np
import torch

from adaptner.nn.batching.word_batch import WordBatch, WordBatcher
from adaptner.nn.batching.word_shapes import word_shape
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.lexical_features import (
    NEIGHBOUR_LENGTH,
    SHAPE_LENGTH,
    STATE_LENGTH,
    WORD_LENGTH,
    word_part,
)
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.encoders.word_cache import WordCache
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors

WORDS = ("the", "gene", "tp53", "binds", ".")
TABLE = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
SHAPE_OF = EncoderConfig(char_embedding=4, char_cnn_filters=3, char_lstm=0, hidden=5, dropout=0)


def sentence(*words: str) -> Sentence:
    return Sentence.from_tokens(words)


def unit(vector: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vector)
    return vector / length if length else vector


def test_features_equal_a_loop_over_tokens():
    batcher = WordBatcher(WordVectors(WORDS, TABLE), "abcdefg")
    wide = RecurrentEncoder(
        SHAPE_OF.model_copy(update={"lexical_features": True, "state_length": STATE_LENGTH}),
        batcher,
        torch.Generator().manual_seed(1),
    )
    narrow = RecurrentEncoder(SHAPE_OF, batcher, torch.Generator())
    narrow.load_state_dict(wide.state_dict())  # the features have no parameters
    task = [sentence("The", "gene", "TP53", "binds", "nothing"), sentence("Gene", ".")]
    batch = batcher([task])
    found, states = wide(batch)[0].detach().numpy(), narrow(batch)[0].detach().numpy()
    assert found.shape[-1] == wide.width
    for row, place in enumerate(batch.order[0]):
        words = task[place].tokens
        vectors = [np.zeros(4), *(_vector(w) for w in words), np.zeros(4)]
        for t, word in enumerate(words):
            expected = np.concatenate(
                [
                    STATE_LENGTH * unit(states[row, t]),
                    WORD_LENGTH * unit(vectors[t + 1]),
                    NEIGHBOUR_LENGTH * unit(vectors[t]),
                    NEIGHBOUR_LENGTH * unit(vectors[t + 2]),
                    SHAPE_LENGTH * np.array(word_shape(word), dtype=float),
                ]
            )
            np.testing.assert_allclose(found[row, t], expected, rtol=1e-5, atol=1e-6)
        assert not found[row, len(words) :].any()
    part = word_part(10, 4)
    np.testing.assert_allclose(found[0, 1, part], WORD_LENGTH * unit(TABLE[1]), rtol=1e-5)


def _vector(word: str) -> np.ndarray:
    return TABLE[WORDS.index(word.lower())] if word.lower() in WORDS else np.zeros(4)


def test_word_shapes():
    def yes(word: str) -> list[int]:
        return [i for i, answer in enumerate(word_shape(word)) if answer]

    assert yes("HeLa") == [0, 8]
    assert yes("TP53") == [0, 1, 3, 8]
    assert yes("53") == [3, 4]
    assert yes("-") == [5, 6]
    assert yes("erythematosus") == [2, 7]
    assert yes("") == [5]


def test_linear_scores_equal_a_linear_layer_over_the_features():
    """For two tasks at once, and with a word cache used over several batches."""
    batcher = WordBatcher(WordVectors(WORDS, TABLE), "abcdefgh")
    config = SHAPE_OF.model_copy(update={"lexical_features": True})
    encoder = RecurrentEncoder(config, batcher, torch.Generator().manual_seed(1))
    first = [sentence("The", "gene", "TP53", "binds", "nothing"), sentence("Gene", ".")]
    second = [sentence("nothing", "binds", "."), sentence("each", "Gene", "has", "a", "head")]
    weight = torch.randn(1, 3, encoder.width, generator=torch.Generator().manual_seed(2))
    both = batcher([first, second])
    with torch.no_grad():
        found = torch.func.functional_call(
            _ReadOut(encoder),
            {f"encoder.{n}": p.expand(2, *p.shape[1:]) for n, p in encoder.named_parameters()},
            (both, weight.expand(2, -1, -1)),
        )
        for task, own in enumerate((first, second)):
            alone = encoder(batcher([own])) @ weight[:, None].mT
            torch.testing.assert_close(found[task : task + 1, :, : alone.shape[2]], alone)
        memory = WordCache()
        for own in (first, second, first, second + first):
            batch = batcher([own])
            remembered = encoder.linear_scores(batch, weight, memory)
            torch.testing.assert_close(remembered, encoder(batch) @ weight[:, None].mT)
        for changed in (encoder.recurrent.bias, encoder.chars, weight):
            changed.add_(0.5)  # as an optimiser does
            remembered = encoder.linear_scores(batch, weight, memory)
            torch.testing.assert_close(remembered, encoder(batch) @ weight[:, None].mT)


class _ReadOut(torch.nn.Module):
    def __init__(self, encoder: RecurrentEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, batch: WordBatch, weight: torch.Tensor) -> torch.Tensor:
        return self.encoder.linear_scores(batch, weight)


def test_older_models_have_shorter_states():
    assert EncoderConfig(lexical_features=True).state_length == 4.0
    assert "state_length" not in EncoderConfig(lexical_features=True).model_dump()
    assert EncoderConfig(state_length=8.0).model_dump()["state_length"] == 8.0
