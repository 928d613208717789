"""The labelled sentences are read once by each encoder that is considered."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from terms_base_kit import default_base_without_terms

import adaptner
from adaptner.corpora.bundled import bundled_corpus
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.encoded import EncodedSentences
from adaptner.nn.encoders.recurrent import RecurrentEncoder


@pytest.mark.parametrize(
    ("corpus", "passes"), [("gene", 1), ("cellline", 2)], ids=["known label", "new label"]
)
def test_each_encoder_reads_the_sentences_once(corpus, passes, monkeypatch):
    calls: list[int] = []
    forward = RecurrentEncoder.forward

    def counting(self: RecurrentEncoder, *arguments: Any) -> torch.Tensor:
        calls.append(id(self))
        return forward(self, *arguments)

    monkeypatch.setattr(RecurrentEncoder, "forward", counting)
    sentences = bundled_corpus(corpus).split("train")[:10]
    tagger = adaptner.adapt(sentences, default_base_without_terms())
    assert tagger.assessment is not None
    assert len(calls) == len(set(calls)) == passes


def test_selected_sentences_have_the_states_they_have_alone():
    base, corpus = default_base_without_terms(), bundled_corpus("cellline")
    sentences = list(corpus.split("train")[:12])
    weight = LinearFitConfig().empty_sentence_weight
    together = EncodedSentences.of(base, sentences, corpus.labels, weight).select([3, 0, 7])
    assert sorted(together.order) == [0, 3, 7]
    assert together.states.shape[2] == max(len(sentences[i]) for i in (0, 3, 7))
    for row, place in enumerate(together.order):
        alone = EncodedSentences.of(base, [sentences[place]], corpus.labels, weight)
        length = len(sentences[place])
        torch.testing.assert_close(together.states[0, row, :length], alone.states[0, 0])
        assert together.tags[0, row, :length].tolist() == alone.tags[0, 0].tolist()
        assert float(together.weights[0, row]) == float(alone.weights[0, 0])
