"""Hashed n-grams against fastText's rule, and of vectors of unknown words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import MAX_CHARACTERS, NgramVectors
from adaptner.vectors.word_vectors import WordVectors

WORDS = (
    "cells", "a", "ab", "p53", "β-catenin", "TGFβ1", "naïve", "日本語の言葉", "数", "😀😀👍🏽", "e\u0301tude",
    "İstanbul", "ΟΔΟΣ", "x" * 99, "y" * 100, "<>", "__label__x", "1,25-dihydroxyvitamin",
)  # fmt: skip


def grams(buckets: int = 1000, least: int = 4, most: int = 5, lower: bool = False) -> NgramVectors:
    rng = np.random.default_rng(buckets)
    return NgramVectors(FourBitTable.of(rng.normal(size=(buckets, 4))), least, most, lower)


def naive(word: str, buckets: int, least: int, most: int) -> list[int]:
    """Follows the C++ code: every start, every length, every byte as a signed char."""
    word, found = f"<{word}>", []
    for start in range(len(word)):
        for length in range(least, most + 1):
            gram = word[start : start + length]
            if len(gram) < length or (gram in ("<", ">") and start in (0, len(word) - 1)):
                continue
            hashed = np.array([2166136261], dtype=np.uint32)
            for byte in np.frombuffer(gram.encode(), dtype=np.int8):
                hashed = (hashed ^ byte.astype(np.int32).view(np.uint32)) * np.uint32(16777619)
            found.append(int(hashed[0]) % buckets)
    return found


@settings(max_examples=150)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.integers(1, 4),
    st.integers(0, 3),
    st.sampled_from([1, 7, 100_000]),
)
def test_rows_equal_those_of_the_fasttext_rule(word, least, more, buckets):
    own = NgramVectors(FourBitTable(np.zeros((buckets, 1), np.uint8), np.zeros(buckets, np.float32)), least, least + more, False)  # fmt: skip
    assert own.rows(word).tolist() == naive(word, buckets, least, least + more)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory):
    floret = pytest.importorskip("floret")
    path = tmp_path_factory.mktemp("floret") / "t.txt"
    path.write_text("cells p53 naïve 日本語の言葉 of the\n" * 50, encoding="utf-8")

    def train(least: int, most: int):
        return floret.train_unsupervised(
            str(path), dim=8, epoch=1, minn=least, maxn=most, bucket=777, thread=1, verbose=0, label=" "
        )  # fmt: skip

    return train


@pytest.mark.parametrize("limits", [(4, 5), (3, 6), (1, 2), (2, 2)])
def test_rows_and_vectors_equal_those_of_floret(model, limits):
    theirs = model(*limits)
    count = len(theirs.get_words())
    rows = theirs.get_input_matrix()[count:]
    ours = grams(777, *limits)
    for word in WORDS:
        _, numbers = theirs.get_subwords(word)
        known = theirs.get_word_id(word) >= 0
        assert ours.rows(word).tolist() == (numbers[known:] - count).tolist(), word
        if not known and len(numbers):
            made_up = rows[ours.rows(word)].mean(0)
            np.testing.assert_allclose(made_up, theirs.get_word_vector(word), atol=1e-6)


def test_only_the_ends_of_long_words_are_read():
    own, half = grams(), MAX_CHARACTERS // 2
    long = "a" * 5000 + "b" * 5000
    assert own.rows(long).tolist() == own.rows("a" * half + "b" * half).tolist()
    assert len(own.rows("c" * 10**6)) == 2 * (MAX_CHARACTERS + 2) - 3 - 4


def test_words_are_lower_cased_for_lower_cased_vectors():
    assert grams(lower=True).rows("HeLa").tolist() == grams(lower=True).rows("hela").tolist()
    assert grams().rows("HeLa").tolist() != grams().rows("hela").tolist()


def test_lone_surrogate_is_accepted():
    assert len(grams().rows("ab\ud800cd")) == 7


@pytest.mark.parametrize(("buckets", "least", "most"), [(0, 4, 5), (9, 0, 5), (9, 5, 4)])
def test_invalid_ngram_lengths_raise(buckets, least, most):
    with pytest.raises(ValueError):
        grams(buckets, least, most)


def test_vector_is_the_row_or_the_mean_of_ngrams_or_none():
    own = grams(lower=True)
    table = FourBitTable.of(np.random.default_rng(1).normal(size=(2, 4)))
    vectors = WordVectors(("the", "dna"), table, own)
    np.testing.assert_array_equal(vectors.vector("The"), table[0])
    np.testing.assert_array_equal(vectors.vector("DNA"), table[1])
    np.testing.assert_array_equal(
        vectors.vector("RNAs"), own.table[own.rows("rnas").tolist()].mean(0)
    )
    assert vectors.vector("x") is None  # "<x>" has no n-gram of four
    assert vectors.pieces("the") is None
    assert WordVectors(("the",), table[:1]).vector("rnas") is None


def test_digest_depends_on_the_ngrams(tmp_path):
    table = FourBitTable.of(np.random.default_rng(1).normal(size=(2, 4)))
    plain = np.asarray(table)
    digests = {
        WordVectors(("a", "b"), t, g).digest()
        for t in (table, plain)
        for g in (None, grams(), grams(999), grams(most=6), grams(lower=True))
    }
    assert len(digests) == 10
