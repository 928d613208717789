"""Tests of mention replacement, with the counts of the PDALN paper and arbitrary sentences."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_sentences import assert_valid, sentences

from adaptner.corpora.bundled import bundled_corpus
from adaptner.episodes.mention_replacement import (
    MentionText,
    mentions_by_label,
    replace_mention,
    replace_some_mentions,
)
from adaptner.methods.pdaln.augmentation import mixed_domain_data
from adaptner.methods.pdaln.config import PDALNTuneConfig
from adaptner.types import Sentence


@settings(max_examples=40)
@given(sentences(), sentences(), st.data())
def test_replacement_changes_nothing_but_the_mention(sentence, other, data):
    pairs = [(e, o) for e in sentence.entities for o in other.entities if o.label == e.label]
    assume(pairs)
    entity, replacement = data.draw(st.sampled_from(pairs))
    changed = replace_mention(sentence, entity, MentionText.of(other, replacement))
    assert_valid(changed)
    index = sentence.entities.index(entity)
    assert [e.label for e in changed.entities] == [e.label for e in sentence.entities]
    expected = [e.text_in(sentence.text) for e in sentence.entities]
    expected[index] = replacement.text_in(other.text)
    assert [e.text_in(changed.text) for e in changed.entities] == expected
    first = [
        t
        for t, (a, _) in zip(sentence.tokens, sentence.token_spans, strict=True)
        if a < entity.start
    ]
    last = [
        t
        for t, (a, _) in zip(sentence.tokens, sentence.token_spans, strict=True)
        if a >= entity.end
    ]
    inside = [
        other.text[a:b] for a, b in other.token_spans if replacement.start <= a < replacement.end
    ]
    assert list(changed.tokens) == [*first, *inside, *last]
    assert changed.start == sentence.start


@settings(max_examples=40)
@given(st.lists(sentences(), max_size=5), st.lists(sentences(), max_size=6), st.integers(1, 4))
def test_mixed_data_of_any_sentences_is_valid(source, target, ratio):
    made = mixed_domain_data(source, target, random.Random(3), PDALNTuneConfig(source_ratio=ratio))
    for sentence in made:
        assert_valid(sentence)
    known = mentions_by_label([*source, *target])
    for sentence in made:
        for entity in sentence.entities:
            assert MentionText.of(sentence, entity) in known[entity.label]
    assert len(made) <= 4 * len(target) + 2 * ratio * len(target)


@settings(max_examples=40)
@given(st.lists(sentences(), max_size=4), st.lists(sentences(), max_size=4), st.integers(0, 5))
def test_number_of_copies_is_limited_by_possible_replacements(plain, others, copies):
    known = mentions_by_label(others)
    made = replace_some_mentions(plain, known, copies, random.Random(0))
    possible = sum(
        mention.text != e.text_in(s.text)
        for s in plain
        for e in s.entities
        for mention in known.get(e.label, ())
    )
    assert len(made) == min(copies * len(plain), possible)


def corpus(name: str, size: int, empty: int = 0) -> list[Sentence]:
    """Sentences with one distinct mention each, except for the first ``empty`` ones."""
    made = [
        Sentence.from_tokens([f"{name}{i}", f"went-{name}{i}"], ["B-PER", "O"]) for i in range(size)
    ]
    return [s.without_entities() for s in made[:empty]] + made[empty:]


@pytest.mark.parametrize(("target", "ratio", "size"), [(100, 5, 1400), (10, 10, 240)])
@pytest.mark.parametrize("empty", [0, 6])
def test_size_of_mixed_data_is_that_of_the_paper(target, ratio, size, empty):
    """100 * 4 + 500 * 2 and, for Webpage, 10 / 100 / 240 (5.3), even if sentences have no mention."""
    target_sentences, source = corpus("t", target, empty), corpus("s", 2000, empty)
    made = mixed_domain_data(
        source, target_sentences, random.Random(1), PDALNTuneConfig(source_ratio=ratio)
    )
    assert len(made) == size
    assert (
        sum(s.tokens[0].startswith("t") for s in made) == 2 * ratio * target
    )  # in source sentences
    assert len(set(made)) == size


@pytest.mark.parametrize("ratio", [1, 3, 5, 7])
def test_size_of_mixed_data_follows_the_ratio_of_table_4(ratio):
    made = mixed_domain_data(
        corpus("s", 900), corpus("t", 100), random.Random(1), PDALNTuneConfig(source_ratio=ratio)
    )
    assert len(made) == 100 * 4 + ratio * 100 * 2


def test_mentions_move_in_both_directions():
    """The example in the paper."""
    source = [Sentence.from_tokens(["Oslo", "will", "play"], ["B-LOC", "O", "O"])]
    target = [Sentence.from_tokens(["The", "Cape", "Town", "firm"], ["O", "B-LOC", "I-LOC", "O"])]
    made = mixed_domain_data(source, target, random.Random(0))
    assert [s.text for s in made] == ["The Oslo firm", "Cape Town will play"]
    assert made[1].tags == ("B-LOC", "I-LOC", "O", "O")


def test_no_mixed_data_without_a_common_label():
    source, target = bundled_corpus("drug").split("train"), bundled_corpus("gene").split("train")
    assert mixed_domain_data(source, target[:5], random.Random(0)) == []


def test_mixed_data_depends_on_the_seed_only():
    train = bundled_corpus("gene").split("train")
    one, two, other = (
        mixed_domain_data(train[20:], train[:10], random.Random(seed)) for seed in (1, 1, 2)
    )
    assert one == two != other
    assert len(one) == 140
