"""Distorted sentences stay sentences: tokens, text and mentions agree."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from random_sentences import assert_valid, sentences

from adaptner.methods.pdaln.synonyms import Synonyms
from adaptner.methods.pdaln.text_perturbation import perturb, with_synonyms, without_a_span
from adaptner.types import Sentence

WORDS = Synonyms(
    "a test", {"big": ("large", "vast"), "dog": ("hound",), "a": ("one",), "z": ("zed",)}
)


@settings(max_examples=60)
@given(sentences(), st.integers(0, 99))
def test_any_sentence(sentence, seed):
    changed = perturb(sentence, WORDS, random.Random(seed))
    assert_valid(changed)
    assert len(changed) >= 1
    names = [e.text_in(sentence.text).replace(" ", "") for e in sentence.entities]
    left = [e.text_in(changed.text).replace(" ", "") for e in changed.entities]
    assert len(left) <= len(names)
    assert all(any(one in name or _apart(one, name) for name in names) for one in left)


def _apart(left: str, name: str) -> bool:
    """What is left of a name in whose midst something is missing."""
    rest = iter(name)
    return all(letter in rest for letter in left)


@settings(max_examples=60)
@given(sentences(), st.integers(0, 99), st.floats(0.05, 0.9))
def test_a_span_is_left_out(sentence, seed, share):
    changed = without_a_span(sentence, random.Random(seed), share)
    gone = len(sentence) - len(changed)
    assert gone == (min(max(1, round(share * len(sentence))), len(sentence) - 1))
    starts = [
        i
        for i in range(len(changed) + 1)
        if sentence.tokens[:i] + sentence.tokens[i + gone :] == changed.tokens
    ]
    assert starts
    kept = [tag for i in starts for tag in [sentence.tags[:i] + sentence.tags[i + gone :]]]
    plain = [tuple(tag[2:] for tag in tags) for tags in kept]
    assert tuple(tag[2:] for tag in changed.tags) in plain  # types stay with their tokens


def test_words_outside_mentions_are_replaced():
    sentence = Sentence.from_tokens(
        ["A", "big", "dog", "bit", "Big", "Ben"], ["O"] * 4 + ["B-X", "I-X"]
    )
    changed = with_synonyms(sentence, WORDS, random.Random(0), 1.0)
    assert changed is not None
    assert changed.tokens in {
        ("One", big, "hound", "bit", "Big", "Ben") for big in ("large", "vast")
    }
    assert changed.tags == sentence.tags
    one = with_synonyms(sentence, WORDS, random.Random(0), 0.01)
    assert one is not None
    assert sum(a != b for a, b in zip(one.tokens, sentence.tokens, strict=True)) == 1


def test_no_word_has_a_synonym():
    sentence = Sentence.from_tokens(["Big", "Ben", "ran"], ["B-X", "I-X", "O"])
    assert with_synonyms(sentence, WORDS, random.Random(0), 1.0) is None
    assert len(perturb(sentence, WORDS, random.Random(0))) == 2


def test_a_single_word_stays():
    sentence = Sentence.from_tokens(["Ben"], ["B-X"])
    assert perturb(sentence, WORDS, random.Random(0)) == sentence
