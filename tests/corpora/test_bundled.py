"""Tests of the size and quality of the corpora in the package."""

from __future__ import annotations

import pytest

from adaptner.corpora.annotation_checks import find_contradictions
from adaptner.corpora.bundled import BUNDLED, bundled_corpus
from adaptner.errors import UnknownName

LABELS = dict(zip(BUNDLED, ("Disease", "Drug", "Gene", "Species", "CellLine"), strict=True))


@pytest.mark.parametrize("name", BUNDLED)
def test_size_and_labels(name):
    corpus = bundled_corpus(name)
    assert corpus.domain == LABELS[name]
    assert corpus.labels.labels == (LABELS[name],)
    assert [len(corpus.split(s)) for s in ("train", "dev", "test")] == [130, 30, 70]
    sentences = [s for split in corpus.splits for s in corpus.split(split)]
    mentions = {e.text_in(s.text) for s in sentences for e in s.entities}
    assert len(mentions) >= 60
    for split in corpus.splits:
        without_entities = [s for s in corpus.split(split) if not s.entities]
        assert 0.1 < len(without_entities) / len(corpus.split(split)) < 0.5


@pytest.mark.parametrize("name", BUNDLED)
def test_first_four_words_of_sentences_differ(name):
    corpus = bundled_corpus(name)
    beginnings = [
        " ".join(s.text.lower().split()[:4]) for split in corpus.splits for s in corpus.split(split)
    ]
    assert len(beginnings) == len(set(beginnings))


def test_sentences_are_distinct():
    texts = [
        "".join(s.text.lower().split())
        for name in BUNDLED
        for split in ("train", "dev", "test")
        for s in bundled_corpus(name).split(split)
    ]
    assert len(texts) == 5 * 230
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("name", BUNDLED)
def test_mentions_have_no_outer_space_or_punctuation(name):
    corpus = bundled_corpus(name)
    for split in corpus.splits:
        for sentence in corpus.split(split):
            for entity in sentence.entities:
                mention = entity.text_in(sentence.text)
                assert mention == mention.strip()
                assert mention[0] not in ".,;:)"
                assert mention[-1] not in ".,;:("


@pytest.mark.parametrize("name", BUNDLED)
def test_mentions_are_labelled_consistently(name):
    corpus = bundled_corpus(name)
    sentences = [s for split in corpus.splits for s in corpus.split(split)]
    assert find_contradictions(sentences) == []


def test_unknown_name_raises():
    with pytest.raises(UnknownName, match=r"did you mean 'disease'"):
        bundled_corpus("diseases")
