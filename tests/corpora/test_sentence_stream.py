"""Tests of endless batches of unlabelled text and of the vocabulary of several texts."""

from __future__ import annotations

import gzip
import lzma
import random
from collections import Counter
from itertools import islice

import pytest
import torch

from adaptner.corpora.sentence_stream import (
    ChainedSentences,
    RawTextFiles,
    SentenceStream,
    endless_batches,
)
from adaptner.errors import TooFewSentences
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.losses.sampled_softmax import EDGE, UNKNOWN
from adaptner.training.vocabulary import Vocabulary
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors


def sentence(text: str, *tags: str) -> Sentence:
    return Sentence.from_tokens(text.split(), tags or None)


def words(text: object) -> list[str]:
    return [" ".join(s.tokens) for s in text]


@pytest.mark.parametrize("ending", [".txt", ".gz", ".xz"])
def test_files_are_read_in_every_iteration(tmp_path, ending):
    file = tmp_path / f"a{ending}"
    open_file = {".txt": open, ".gz": gzip.open, ".xz": lzma.open}[ending]
    with open_file(file, "wb") as out:
        out.write(b"One cell. Two cells.\n\n \nThree cells\n")
    text = RawTextFiles((file, file))
    sentences = ["One cell .", "Two cells .", "Three cells"]
    assert words(text) == sentences * 2
    assert words(text) == sentences * 2


def test_endless_stream_is_read_one_pool_at_a_time():

    class Endless:
        read = 0

        def __iter__(self):
            while True:
                self.read += 1
                yield sentence(f"word {self.read}")

    source = Endless()
    found = list(islice(endless_batches(SentenceStream((source,)), 4, random.Random(0)), 60))
    assert len(found) == 60
    assert source.read <= 2 * 50 * 4  # two pools of 50 batches


def test_stream_alternates_between_parts_and_drops_labels():
    one = [sentence("a b", "B-X", "O"), Sentence("", ()), sentence("c d e f")]
    other = [sentence("g"), sentence("h"), sentence("i")]
    text = SentenceStream((one, other), longest=3)
    assert words(text) == ["a b", "g", "c d e", "h", "i"]
    assert all(not s.entities for s in text)
    assert words(SentenceStream((one, other), most=1)) == ["a b", "g"]
    assert words(ChainedSentences((one[:1], other))) == ["a b", "g", "h", "i"]


@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_every_sentence_is_drawn_before_any_repeats(size):
    sentences = [sentence(f"w{i}") for i in range(7)]
    batches = endless_batches(sentences, size, random.Random(1))
    stream = [s.text for batch in islice(batches, 21) for s in batch]
    assert all(len(b) == size for b in islice(batches, 3))
    for start in range(0, len(stream) - 7, 7):
        assert Counter(stream[start : start + 7]) == Counter(s.text for s in sentences)


def test_batches_depend_on_the_seed_only():
    sentences = [sentence(f"w{i}") for i in range(40)]
    one, two, other = (
        list(islice(endless_batches(SentenceStream((sentences,)), 6, random.Random(s)), 20))
        for s in (1, 1, 2)
    )
    assert one == two
    assert one != other


def test_empty_text_raises():
    with pytest.raises(TooFewSentences):
        next(endless_batches([], 3, random.Random(0)))


def test_vocabulary_counts_words_of_each_text():
    texts = [[sentence("a a b rare"), sentence("b c")], [sentence("a d d")]]
    found = Vocabulary.of(texts)
    assert found.number == {"a": 2, "b": 3, "d": 4}  # by frequency, then by name
    assert found.counts.tolist() == [[2, 2, 2, 2, 0], [0, 1, 1, 0, 2]]  # unknown, edge, a, b, d
    assert found.sentences == (2, 1)
    assert found.read == {"a", "b", "c", "d", "rare"}
    assert len(found) == 5
    fewer = Vocabulary.of(texts, max_words=1)
    assert fewer.number == {"a": 2}
    assert fewer.counts.tolist() == [[4, 2, 2], [2, 1, 1]]


def test_word_numbers_follow_the_order_of_the_batch():
    text = [sentence("b"), sentence("a x b")]
    vocabulary = Vocabulary.of([[sentence("a b a b")]])
    vectors = WordVectors(("a", "b"), torch.zeros(2, 3).numpy())
    batch = WordBatcher(vectors, "ab")([text])
    found = vocabulary.numbers(text, batch, 0)
    assert found[batch.mask[0]].tolist() == [2, UNKNOWN, 3, 3]  # the longest sentence is first
    assert EDGE not in found
