"""Word batches: order, distinct words, long and unknown words, tasks of different sizes."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import torch
from builders import sentence
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.nn.batching import word_batch as batch_module
from adaptner.nn.batching.word_batch import MAX_WORD_LENGTH, UNKNOWN_CHAR, WordBatcher, alphabet_of
from adaptner.nn.encoders.embeddings import FrozenEmbeddings
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.word_vectors import WordVectors

VECTORS = WordVectors(("a", "bb", "ccc"), np.eye(3, dtype=np.float32))
X, XY = LabelSet(("X",)), LabelSet(("X", "Y"))


def batcher() -> WordBatcher:
    return WordBatcher(VECTORS, "abc")


def test_sentences_are_sorted_with_their_tags():
    task = [sentence("a", "B-X"), sentence("a bb ccc", "O B-X I-X"), sentence("bb a", "O O")]
    batch = batcher()([task], [X])
    assert batch.order == ((1, 2, 0),)
    assert batch.mask.tolist() == [[[True] * 3, [True, True, False], [True, False, False]]]
    assert batch.tags is not None
    assert batch.tags.tolist() == [[[0, 1, 2], [0, 0, 0], [1, 0, 0]]]


def test_tag_ids_are_those_of_each_task():
    task = [sentence("a bb", "B-Y I-Y")]
    batch = batcher()([task, task], [LabelSet(("Y",)), XY])
    assert batch.tags is not None
    assert batch.tags.tolist() == [[[1, 2]], [[3, 4]]]
    assert batcher()([task]).tags is None


def test_tag_ids_follow_the_scheme_of_the_labels():
    task = [sentence("a", "B-X"), sentence("a bb ccc a bb", "B-Y I-Y I-Y B-X I-X")]
    batch = batcher()([task, task], [LabelSet(("X", "Y"), "bioes"), LabelSet(("X", "Y"))])
    assert batch.tags is not None
    assert batch.tags.tolist() == [
        [[5, 6, 7, 1, 3], [4, 0, 0, 0, 0]],
        [[3, 4, 4, 1, 2], [1, 0, 0, 0, 0]],
    ]


def test_tasks_of_different_vocabularies_are_padded():
    rich = [sentence("a bb ccc acb"), sentence("cab bca a")]
    poor = [sentence("a a a a a"), sentence("a")]
    batch = batcher()([rich, poor])
    assert batch.rows.shape == (2, 6)
    assert batch.char_packing.lengths[1].tolist() == [1] * 6
    for g, task in enumerate((rich, poor)):
        for i, original in enumerate(batch.order[g]):
            for t, word in enumerate(task[original].tokens):
                w = int(batch.index[g, i, t])
                assert batch.rows[g, w] == VECTORS.row(word)
                length = int(batch.char_packing.lengths[g, w])
                letters = "".join("\0?abc"[c] for c in batch.chars[g, w, :length])
                assert letters == word


words = st.text("abcé", min_size=1, max_size=40)
sentences = st.lists(words, min_size=1, max_size=5).map(Sentence.from_tokens)


@settings(max_examples=50)
@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(sentences, min_size=n, max_size=n), min_size=1, max_size=3)))  # fmt: skip
def test_batch_identifies_every_token(tasks):
    batch = batcher()(tasks)
    for g, task in enumerate(tasks):
        assert sorted(batch.order[g]) == list(range(len(task)))
        lengths = [len(task[i]) for i in batch.order[g]]
        assert lengths == sorted(lengths, reverse=True)
        assert batch.mask[g].sum(1).tolist() == lengths
        assert batch.char_packing.lengths[g].tolist() == sorted(
            batch.char_packing.lengths[g].tolist(), reverse=True
        )
        for i, original in enumerate(batch.order[g]):
            for t, word in enumerate(task[original].tokens):
                w = int(batch.index[g, i, t])
                read = [{"a": 2, "b": 3, "c": 4}.get(c, UNKNOWN_CHAR) for c in word]
                if len(read) > MAX_WORD_LENGTH:
                    read = read[: MAX_WORD_LENGTH // 2] + read[-MAX_WORD_LENGTH // 2 :]
                assert batch.chars[g, w, : batch.char_packing.lengths[g, w]].tolist() == read
                assert batch.chars[g, w, batch.char_packing.lengths[g, w] :].sum() == 0


def test_long_words_are_cut_in_the_middle():
    long = "a" * 500 + "b" * 500
    batch = batcher()([[sentence(f"{long} a")]])
    assert batch.chars.shape == (1, 2, MAX_WORD_LENGTH)
    assert batch.chars[0, 0].tolist() == [2] * 16 + [3] * 16
    exact = "c" * MAX_WORD_LENGTH
    assert batcher()([[sentence(exact)]]).chars[0, 0].tolist() == [4] * MAX_WORD_LENGTH


def test_unknown_words_and_characters_have_their_own_ids():
    batch = batcher()([[sentence("zβ A")]])
    assert sorted(batch.rows[0].tolist()) == [0, len(VECTORS.words)]
    assert batch.chars[0, 0].tolist() == [UNKNOWN_CHAR, UNKNOWN_CHAR]
    assert batch.chars[0, 1].tolist() == [UNKNOWN_CHAR, 0]  # characters keep their case


def test_unknown_tag_raises():
    with pytest.raises(KeyError):
        batcher()([[sentence("a", "B-Z")]], [X])


def test_alphabet_is_sorted_without_spaces_or_rare_characters():
    found = alphabet_of([sentence("ba ab\u00a0x"), sentence("cc β")])
    assert found == "abc"
    assert alphabet_of([sentence("β")], min_count=1) == "β"


def test_packing_covers_the_mask():
    batch = batcher()([[sentence("a bb"), sentence("a bb ccc")], [sentence("a"), sentence("bb")]])
    ones = torch.ones(2, 2, sum(batch.packing.sizes), 1)
    assert (batch.packing.unpack(ones)[batch.mask] == 1).all()


def checked(own: WordBatcher, tokens: list[str]) -> None:
    batch = own([[Sentence.from_tokens(tokens)]])
    for t, word in enumerate(tokens):
        w = int(batch.index[0, 0, t])
        assert batch.rows[0, w] == own.vectors.row(word)
        length = int(batch.char_packing.lengths[0, w])
        assert batch.chars[0, w, :length].tolist() == own.char_ids(word)


def test_batches_are_right_after_the_index_was_emptied(monkeypatch):
    monkeypatch.setattr(batch_module, "MAX_CACHED_WORDS", 3000)
    own = WordBatcher(VECTORS, "abc0123456789")
    for start in range(0, 8000, 500):
        checked(own, [f"w{i}" for i in range(start, start + 500)] + ["a", "w3"])


def test_threads_can_add_words_at_once():
    """``Tagger.predict`` may run in several threads that share a batcher."""
    own = WordBatcher(WordVectors((), np.zeros((0, 2), dtype=np.float32)), "0123456789abcd")
    words = {n: [f"{n}{i}" for i in range(400)] for n in "abcd"}
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for start in range(0, 400, 20):
                checked(own, words[name][start : start + 20] + words["a"][start : start + 20])
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in words]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    for tokens in words.values():
        checked(own, tokens)


# --- words made up of n-grams ---------------------------------------------------------------------

RNG = np.random.default_rng(5)
SUBWORDS = WordVectors(
    ("a", "bb", "ccc"),
    FourBitTable.of(RNG.normal(size=(3, 4))),
    NgramVectors(FourBitTable.of(RNG.normal(size=(40, 4))), 2, 3),
)


def looked_up(own: WordBatcher, tasks: list[list[Sentence]]) -> list[list[list[np.ndarray]]]:
    """The vector of every token, by task and sentence, computed through a batch."""
    batch = own(tasks)
    found = FrozenEmbeddings(own.vectors)(batch.rows, batch.pieces)
    placed = [found[g][batch.index[g]].numpy() for g in range(len(tasks))]
    return [
        [placed[g][batch.order[g].index(i)][: len(s)] for i, s in enumerate(task)]
        for g, task in enumerate(tasks)
    ]


@settings(max_examples=50)
@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(sentences, min_size=n, max_size=n), min_size=1, max_size=3)))  # fmt: skip
def test_every_token_has_the_vector_of_its_word(tasks):
    for task, rows in zip(tasks, looked_up(WordBatcher(SUBWORDS, "abc"), tasks), strict=True):
        for own, found in zip(task, rows, strict=True):
            for word, vector in zip(own.tokens, found, strict=True):
                expected = SUBWORDS.vector(word)
                assert expected is not None
                np.testing.assert_allclose(vector, expected, rtol=1e-5, atol=1e-6)


def test_vectors_from_ngrams_do_not_depend_on_the_batch():
    alone = looked_up(WordBatcher(SUBWORDS, "abc"), [[sentence("cab")]])[0][0][0]
    among = looked_up(
        WordBatcher(SUBWORDS, "abc"), [[sentence("bca cabc cab a")], [sentence("ab cab")]]
    )
    assert np.array_equal(alone, among[0][0][2])
    assert np.array_equal(alone, among[1][0][1])


def test_only_words_without_a_row_have_ngrams():
    own = WordBatcher(SUBWORDS, "abc")
    assert own([[sentence("a BB ccc")]]).pieces is None
    batch = own([[sentence("a cab"), sentence("a")], [sentence("bca bb"), sentence("cab bca")]])
    assert batch.pieces is not None
    assert len(batch.pieces.starts) == 3  # cab; bca, cab: each word once per task
    unknown = (batch.rows == 3).flatten().nonzero()[:, 0]
    assert batch.pieces.places.tolist() == unknown.tolist()
    assert own([[sentence("a bb")]]).pieces is None  # although cached words have some
    assert batcher()([[sentence("cab")]]).pieces is None


def test_words_too_short_for_ngrams_are_zero():
    assert SUBWORDS.grams is not None
    long = WordVectors(SUBWORDS.words, SUBWORDS.table, NgramVectors(SUBWORDS.grams.table, 9, 9))
    found = looked_up(WordBatcher(long, "abc"), [[sentence("cab bb cabcabcabcab")]])[0][0]
    assert found[0].tolist() == [0, 0, 0, 0]
    assert np.array_equal(found[1], SUBWORDS.table[1])
    assert found[2].any()


def test_ngrams_are_removed_with_their_words(monkeypatch):
    monkeypatch.setattr(batch_module, "MAX_CACHED_WORDS", 1000)
    own = WordBatcher(SUBWORDS, "abc")
    for start in range(0, 5000, 500):
        tokens = [f"w{i}" for i in range(start, start + 500)]
        found = looked_up(own, [[Sentence.from_tokens(tokens)]])[0][0]
        np.testing.assert_allclose(found[7], SUBWORDS.vector(tokens[7]), rtol=1e-5, atol=1e-6)
        assert len(own._words.pieces) <= 1500
