"""Tests that chunks lose no text and have the sentences of the whole text."""

from __future__ import annotations

import random
from itertools import islice, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.corpora.bundled import bundled_corpus
from adaptner.text import chunks as module
from adaptner.text.chunks import (
    CHUNK_CHARACTERS,
    MAX_CHUNK_CHARACTERS,
    split_into_chunks,
    text_blocks,
)
from adaptner.text.sentences import split_sentences


def cut(text: str) -> list[str]:
    found = list(split_into_chunks(text_blocks(text)))
    assert [last for _, last in found] == [False] * (len(found) - 1) + [True]
    return [chunk for chunk, _ in found]


def sentence_spans(chunks: list[str]) -> list[tuple[int, int]]:
    spans, start = [], 0
    for chunk in chunks:
        spans += [(start + a, start + b) for a, b in split_sentences(chunk)]
        start += len(chunk)
    return spans


def prose(characters: int, seed: int = 0) -> str:
    """Sentences from several corpora, with brackets, abbreviations, numbers, and blank lines."""
    rng = random.Random(seed)
    ordinary = [
        s.text for n in ("disease", "drug", "gene") for s in bundled_corpus(n).split("train")
    ]
    unusual = [
        "See Fig. 3 (cf. Smith et al. 2001. A note.) for it.",
        "1. Introduction",
        "(a. B) c.",
        "0 . 5",
    ]
    pieces: list[str] = []
    size = 0
    while size < characters:
        pieces.append(rng.choice(ordinary if rng.random() < 0.9 else unusual))
        pieces.append(rng.choice([" ", " ", "\n", "\n\n", "  \n \n", ""]))
        size += len(pieces[-2]) + len(pieces[-1])
    return "".join(pieces)


def test_short_text_is_one_chunk():
    assert cut("") == [""]
    assert cut("  One. Two.\n") == ["  One. Two.\n"]


@pytest.mark.parametrize("seed", range(3))
def test_chunks_of_prose_have_the_sentences_of_the_whole_text(seed):
    text = prose(5 * CHUNK_CHARACTERS, seed)
    chunks = cut(text)
    assert "".join(chunks) == text
    assert len(chunks) >= 5
    assert all(len(chunk) < 1.2 * CHUNK_CHARACTERS for chunk in chunks)
    assert sentence_spans(chunks) == split_sentences(text)


@pytest.mark.parametrize("size", [1, 7, 65_536, 10**6])
def test_blocks_of_any_size_lose_no_text(size):
    text = prose(3 * CHUNK_CHARACTERS)
    blocks = (text[start : start + size] for start in range(0, len(text), size))
    assert "".join(chunk for chunk, _ in split_into_chunks(blocks)) == text


def test_text_without_sentence_ends_is_cut_between_words():
    text = "word " * 200_000
    chunks = cut(text)
    assert "".join(chunks) == text
    assert all(len(chunk) <= MAX_CHUNK_CHARACTERS + CHUNK_CHARACTERS for chunk in chunks)
    assert all(chunk.endswith("word ") for chunk in chunks if chunk)


@pytest.mark.slow
@pytest.mark.parametrize("character", ["x", ".", "(", "\n", "漢", "\U0001f9ec", "\u0301"])
def test_a_million_repetitions_of_one_character_are_cut(character):
    text = character * 1_000_000
    chunks = cut(text)
    assert "".join(chunks) == text
    assert max(map(len, chunks)) <= MAX_CHUNK_CHARACTERS + CHUNK_CHARACTERS


@pytest.mark.parametrize("block", ["A sentence. " * 100, "x" * 1000])
def test_chunks_of_an_endless_stream_are_bounded(block):
    for chunk, last in islice(split_into_chunks(repeat(block)), 20):
        assert len(chunk) <= MAX_CHUNK_CHARACTERS + CHUNK_CHARACTERS
        assert not last


@given(st.text("aB.(!?) \n[]1,", max_size=3000))
@settings(max_examples=200)
def test_no_character_of_any_text_is_lost(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_CHARACTERS", 60)
        patch.setattr(module, "MAX_CHUNK_CHARACTERS", 150)
        patch.setattr(module, "_SEARCHED_CHARACTERS", 50)
        patch.setattr(module, "_UNCERTAIN_CHARACTERS", 5)
        assert "".join(cut(text)) == text
