"""A text in stretches: nothing is lost, and the sentences are those of the whole."""

from __future__ import annotations

import random
from itertools import chain, islice

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
    return [stretch for stretch, _ in found]


def sentences_in(pieces: list[str]) -> list[tuple[int, int]]:
    found, start = [], 0
    for piece in pieces:
        found += [(start + a, start + b) for a, b in split_sentences(piece)]
        start += len(piece)
    return found


def prose(characters: int, seed: int = 0) -> str:
    """Sentences of all kinds of corpora, with brackets, abbreviations, numbers and blank lines."""
    rng = random.Random(seed)
    known = [s.text for n in ("disease", "drug", "gene") for s in bundled_corpus(n).split("train")]
    odd = [
        "See Fig. 3 (cf. Smith et al. 2001. A note.) for it.",
        "1. Introduction",
        "(a. B) c.",
        "0 . 5",
    ]
    pieces: list[str] = []
    size = 0
    while size < characters:
        pieces.append(rng.choice(known if rng.random() < 0.9 else odd))
        pieces.append(rng.choice([" ", " ", "\n", "\n\n", "  \n \n", ""]))
        size += len(pieces[-2]) + len(pieces[-1])
    return "".join(pieces)


def test_a_short_text_is_one_stretch() -> None:
    assert cut("") == [""]
    assert cut("  One. Two.\n") == ["  One. Two.\n"]


@pytest.mark.parametrize("seed", range(3))
def test_prose_has_the_sentences_of_the_whole(seed: int) -> None:
    text = prose(5 * CHUNK_CHARACTERS, seed)
    pieces = cut(text)
    assert "".join(pieces) == text
    assert len(pieces) >= 5
    assert all(len(piece) < 1.2 * CHUNK_CHARACTERS for piece in pieces)
    assert sentences_in(pieces) == split_sentences(text)


@pytest.mark.parametrize("size", [1, 7, 65_536, 10**6])
def test_how_the_blocks_come_does_not_matter(size: int) -> None:
    text = prose(3 * CHUNK_CHARACTERS)
    blocks = (text[at : at + size] for at in range(0, len(text), size))
    assert "".join(stretch for stretch, _ in split_into_chunks(blocks)) == text


def test_a_text_without_a_sentence_end_is_cut_between_words() -> None:
    text = "word " * 200_000
    pieces = cut(text)
    assert "".join(pieces) == text
    assert all(len(piece) <= MAX_CHUNK_CHARACTERS + CHUNK_CHARACTERS for piece in pieces)
    assert all(piece.endswith("word ") for piece in pieces if piece)


@pytest.mark.parametrize("character", ["x", ".", "(", "\n", "漢", "\U0001f9ec", "\u0301"])
def test_a_million_of_one_character(character: str) -> None:
    text = character * 1_000_000
    pieces = cut(text)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= MAX_CHUNK_CHARACTERS + CHUNK_CHARACTERS


def test_an_endless_stream_is_never_held() -> None:
    """Neither prose without end nor a line without end."""
    for block in ("A sentence. " * 100, "x" * 1000):
        endless = chain.from_iterable([block] for _ in iter(int, 1))
        for stretch, last in islice(split_into_chunks(endless), 20):
            assert len(stretch) <= MAX_CHUNK_CHARACTERS + CHUNK_CHARACTERS
            assert not last


@given(st.text("aB.(!?) \n[]1,", max_size=3000))
@settings(max_examples=200)
def test_no_text_loses_a_character(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_CHARACTERS", 60)
        patch.setattr(module, "MAX_CHUNK_CHARACTERS", 150)
        patch.setattr(module, "_LOOKED_AT", 50)
        patch.setattr(module, "_SURE", 5)
        assert "".join(cut(text)) == text
