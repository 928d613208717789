"""Tests of the teacher and of word dropout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from adaptner.pretraining.teacher import TransformerTeacher
from adaptner.types import Sentence
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.word_dropout import WordDropoutVectors
from adaptner.vectors.word_vectors import WordVectors

TEXTS = ("the gene", "mutation of p53 is the cell mutated", "Ω")


def test_states_equal_those_of_the_library_after_n_layers(tiny_transformer: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    network = AutoModel.from_pretrained(tiny_transformer, output_hidden_states=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny_transformer)
    found = TransformerTeacher(str(tiny_transformer), 1).states(
        [Sentence.from_tokens(t.split()) for t in TEXTS]
    )
    assert network.config.num_hidden_layers > 1
    for text, states in zip(TEXTS, found, strict=True):
        read = tokenizer([text.split()], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            after_one = network(**read).hidden_states[1][0]
        owners = read.word_ids(0)
        for word in range(len(text.split())):
            own = [after_one[i] for i, owner in enumerate(owners) if owner == word]
            torch.testing.assert_close(states[word], sum(own) / len(own), rtol=1e-4, atol=1e-5)
        assert len(states) == len(text.split())


def test_word_dropout_drops_other_words_for_each_salt() -> None:
    rng = np.random.default_rng(0)
    words = tuple(f"word{i}" for i in range(2000))
    grams = NgramVectors(FourBitTable.of(rng.normal(size=(50, 4))), 3, 4)
    vectors = WordVectors(words, FourBitTable.of(rng.normal(size=(2000, 4))), grams)
    one, other = (WordDropoutVectors.of(vectors, 0.3, salt) for salt in ("0 1", "0 2"))
    gone = [{w for w in words if v.row(w) == len(words)} for v in (one, other)]
    assert all(500 < len(g) < 700 for g in gone)
    assert 120 < len(gone[0] & gone[1]) < 240
    for word in words[:50]:
        assert (one.pieces(word) is not None) == (word in gone[0])
        assert one.row(word) == one.row(word.upper())
        if word not in gone[0]:
            assert one.row(word) == vectors.row(word)
