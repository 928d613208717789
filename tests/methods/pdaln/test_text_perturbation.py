"""Distorted sentences are valid: tokens, text and mentions agree."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from random_sentences import assert_valid, sentences

from adaptner.methods.pdaln.synonyms import Synonyms
from adaptner.methods.pdaln.text_perturbation import perturb, with_synonyms, without_a_span
from adaptner.types import Sentence

SYNONYMS = Synonyms(
    "a test", {"big": ("large", "vast"), "dog": ("hound",), "a": ("one",), "z": ("zed",)}
)


@settings(max_examples=60)
@given(sentences(), st.integers(0, 99))
def test_perturbed_sentence_is_valid_and_has_no_new_mention(sentence, seed):
    changed = perturb(sentence, SYNONYMS, random.Random(seed))
    assert_valid(changed)
    assert len(changed) >= 1
    before = [e.text_in(sentence.text).replace(" ", "") for e in sentence.entities]
    after = [e.text_in(changed.text).replace(" ", "") for e in changed.entities]
    assert len(after) <= len(before)
    assert all(any(_is_subsequence(one, mention) for mention in before) for one in after)


def _is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(letter in rest for letter in part)


@settings(max_examples=60)
@given(sentences(), st.integers(0, 99), st.floats(0.05, 0.9))
def test_deletion_removes_one_span_and_keeps_labels_at_their_tokens(sentence, seed, share):
    changed = without_a_span(sentence, random.Random(seed), share)
    removed = len(sentence) - len(changed)
    assert removed == (min(max(1, round(share * len(sentence))), len(sentence) - 1))
    starts = [
        i
        for i in range(len(changed) + 1)
        if sentence.tokens[:i] + sentence.tokens[i + removed :] == changed.tokens
    ]
    assert starts
    possible = [sentence.tags[:i] + sentence.tags[i + removed :] for i in starts]
    labels = [tuple(tag[2:] for tag in tags) for tags in possible]
    assert tuple(tag[2:] for tag in changed.tags) in labels


def test_only_words_outside_mentions_are_replaced():
    sentence = Sentence.from_tokens(
        ["A", "big", "dog", "bit", "Big", "Ben"], ["O"] * 4 + ["B-X", "I-X"]
    )
    changed = with_synonyms(sentence, SYNONYMS, random.Random(0), 1.0)
    assert changed is not None
    assert changed.tokens in {
        ("One", big, "hound", "bit", "Big", "Ben") for big in ("large", "vast")
    }
    assert changed.tags == sentence.tags
    one = with_synonyms(sentence, SYNONYMS, random.Random(0), 0.01)
    assert one is not None
    assert sum(a != b for a, b in zip(one.tokens, sentence.tokens, strict=True)) == 1


def test_sentence_without_synonyms_loses_a_word():
    sentence = Sentence.from_tokens(["Big", "Ben", "ran"], ["B-X", "I-X", "O"])
    assert with_synonyms(sentence, SYNONYMS, random.Random(0), 1.0) is None
    assert len(perturb(sentence, SYNONYMS, random.Random(0))) == 2


def test_single_word_does_not_change():
    sentence = Sentence.from_tokens(["Ben"], ["B-X"])
    assert perturb(sentence, SYNONYMS, random.Random(0)) == sentence
