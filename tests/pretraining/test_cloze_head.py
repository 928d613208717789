"""The cloze head against a naive loop, and that it does not see the predicted word."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from adaptner.nn.batching.word_batch import WordBatch, WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.pretraining.cloze_head import SHARPNESS, ClozeHead
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors

WORDS = ("a", "bb", "c", "dd", "e")
TINY = EncoderConfig(char_embedding=4, char_cnn_filters=4, char_lstm=4, hidden=5, dropout=0.0)


def sentence(text: str) -> Sentence:
    return Sentence.from_tokens(text.split())


@pytest.fixture
def encoder_and_head() -> tuple[RecurrentEncoder, ClozeHead, WordBatcher]:
    generator = torch.Generator().manual_seed(3)
    table = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
    batcher = WordBatcher(WordVectors(WORDS, table), "abcde")
    encoder = RecurrentEncoder(TINY, batcher, generator)
    return encoder, ClozeHead(encoder.width, 6, generator), batcher


def test_loss_equals_the_naive_equation(encoder_and_head):
    encoder, head, batcher = encoder_and_head
    texts = [sentence("a bb c dd"), sentence("e a")]
    batch: WordBatch = batcher([texts])
    states, words = encoder(batch).detach(), encoder.words(batch.rows)
    found = head(states, batch, words, 1000, torch.Generator())
    total, count = 0.0, 0
    for row, index in enumerate(batch.order[0]):
        length = len(texts[index])
        for t in range(length):
            left = states[0, row, t - 1, :5] if t > 0 else torch.zeros(5)
            right = states[0, row, t + 1, 5:] if t + 1 < length else torch.zeros(5)
            guess = head.weight.detach() @ torch.cat([left, right]) + head.bias.detach()
            scores = [SHARPNESS * float(guess @ v / (guess.norm() * v.norm())) for v in words[0]]
            target = int(batch.index[0, row, t])
            total += math.log(sum(map(math.exp, scores))) - scores[target]
            count += 1
    assert count == 6
    assert float(found.detach()) == pytest.approx(total / count, rel=1e-5)


def test_prediction_is_independent_of_its_word(encoder_and_head):
    encoder, head, batcher = encoder_and_head
    one, other = (
        head.predict(encoder(batcher([[sentence(text)]]))[0])[0] for text in ("a bb c", "a dd c")
    )
    assert torch.equal(one[1], other[1])
    assert not torch.allclose(one[0], other[0])  # its neighbours depend on it
    assert not torch.allclose(one[2], other[2])


def test_number_of_predicted_words_is_limited(encoder_and_head):
    """The mean over all samples of one word is the loss of all words."""
    encoder, head, batcher = encoder_and_head
    batch = batcher([[sentence("a bb c dd"), sentence("e a")]])
    states, words = encoder(batch), encoder.words(batch.rows)
    noise = torch.Generator().manual_seed(0)
    single = [float(head(states, batch, words, 1, noise).detach()) for _ in range(400)]
    assert len({round(x, 4) for x in single}) == 6
    whole = float(head(states, batch, words, 6, noise).detach())
    assert np.mean(single) == pytest.approx(whole, rel=0.1)


def test_word_without_a_vector_is_ignored(encoder_and_head):
    """The loss equals that without the word among targets and candidates."""
    encoder, head, batcher = encoder_and_head
    batch = batcher([[sentence("a zz c")]])
    states, words = encoder(batch), encoder.words(batch.rows)
    found = head(states, batch, words, 10, torch.Generator())
    known = [w for w in range(3) if bool(words[0, w].any())]
    assert len(known) == 2
    predicted = head.predict(states[0])[0]
    expected = []
    for t in (0, 2):
        scores = SHARPNESS * torch.cosine_similarity(predicted[t][None], words[0][known])
        expected.append(-scores.log_softmax(0)[known.index(int(batch.index[0, 0, t]))])
    assert float(found.detach()) == pytest.approx(float(sum(expected).detach()) / 2, rel=1e-5)
