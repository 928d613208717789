"""Tests of word vectors from which a share of the words is dropped."""

from __future__ import annotations

import numpy as np

from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.word_dropout import WordDropoutVectors
from adaptner.vectors.word_vectors import WordVectors


def test_word_dropout_drops_other_words_for_each_salt():
    rng = np.random.default_rng(0)
    words = tuple(f"word{i}" for i in range(2000))
    ngrams = NgramVectors(FourBitTable.of(rng.normal(size=(50, 4))), 3, 4)
    vectors = WordVectors(words, FourBitTable.of(rng.normal(size=(2000, 4))), ngrams)
    first, second = (WordDropoutVectors.of(vectors, 0.3, salt) for salt in ("0 1", "0 2"))
    dropped = [{w for w in words if v.row(w) == len(words)} for v in (first, second)]
    assert all(500 < len(d) < 700 for d in dropped)
    assert 120 < len(dropped[0] & dropped[1]) < 240
    for word in words[:50]:
        assert (first.pieces(word) is not None) == (word in dropped[0])
        assert first.row(word) == first.row(word.upper())
        if word not in dropped[0]:
            assert first.row(word) == vectors.row(word)
