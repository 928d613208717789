"""Tests that the tokeniser is exact and reproduces the tokens of published corpora."""

from __future__ import annotations

import lzma
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.text.tokenizer import tokenize


def words(text: str) -> list[str]:
    return [text[a:b] for a, b in tokenize(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("IL-2 (10 µg/ml)", ["IL", "-", "2", "(", "10", "µg", "/", "ml", ")"]),
        ("p53_wt", ["p53", "_", "wt"]),
        ("0.5%", ["0", ".", "5", "%"]),
        ("TNF-α", ["TNF", "-", "α"]),
        (
            "cafe\u0301s x\u0301",
            ["cafe\u0301s", "x\u0301"],
        ),  # a decomposed é does not split the word
        ("\u0301a -\u0301", ["\u0301", "a", "-", "\u0301"]),  # a mark without a letter is a token
        ("हिन्दी", ["हिन्दी"]),
        ("a\u00a0b\u200bc", ["a", "b", "\u200b", "c"]),
        ("🧬DNA", ["🧬", "DNA"]),
        ("...", [".", ".", "."]),
        ("m²", ["m²"]),
    ],
)
def test_tokens_of_examples(text, expected):
    assert words(text) == expected


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_every_non_space_character_is_in_one_token(text):
    spans = tokenize(text)
    covered = [i for a, b in spans for i in range(a, b)]
    assert covered == [i for i, c in enumerate(text) if not c.isspace()]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aB1_-. \u0301é\u0903\n"))
def test_tokens_joined_by_spaces_give_the_same_tokens(text):
    assert words(" ".join(words(text))) == words(text)


def _disagreements(lines: list[str]) -> list[str]:
    """Lines of tokens joined by spaces whose tokens differ from ours."""
    return [line for line in lines if words(line) != line.split(" ")]


def _conll_sentences(path: Path) -> list[str]:
    sentences = path.read_text(encoding="utf-8").strip("\n").split("\n\n")
    return [
        " ".join(row.partition("\t")[0] for row in sentence.split("\n")) for sentence in sentences
    ]


@pytest.mark.slow
def test_tokens_agree_with_the_eight_bio8_corpora(shared_data):
    files = sorted((shared_data / "bio8").glob("*/*.conll"))
    assert len(files) == 24
    seen: set[str] = set()
    for file in files:
        seen.update(_conll_sentences(file))
    assert len(seen) > 90_000
    assert _disagreements(sorted(seen)) == []


@pytest.mark.slow
def test_tokens_agree_with_other_biomedical_corpora(shared_data):
    files = sorted((shared_data / "bio-extra").glob("*/test.conll"))
    assert len(files) == 15
    for file in files:
        assert _disagreements(_conll_sentences(file)) == [], file


@pytest.mark.parametrize("name", ["abstracts", "elife", "pmc-chemistry-species"])
def test_tokens_agree_with_raw_text(shared_data, name):
    with lzma.open(shared_data / "raw" / f"{name}.txt.xz", "rt", encoding="utf-8") as file:
        assert _disagreements([line.rstrip("\n") for line in islice(file, 5000)]) == []
