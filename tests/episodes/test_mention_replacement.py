"""Cross-domain anchors and adaptive data: counts of the paper, offsets and types of any sentence."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_sentences import sentences, sound

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
def test_a_replacement_keeps_everything_else(sentence, other, data):
    pairs = [(e, o) for e in sentence.entities for o in other.entities if o.label == e.label]
    assume(pairs)
    entity, stranger = data.draw(st.sampled_from(pairs))
    changed = replace_mention(sentence, entity, MentionText.of(other, stranger))
    sound(changed)
    place = sentence.entities.index(entity)
    assert [e.label for e in changed.entities] == [e.label for e in sentence.entities]
    wanted = [e.text_in(sentence.text) for e in sentence.entities]
    wanted[place] = stranger.text_in(other.text)
    assert [e.text_in(changed.text) for e in changed.entities] == wanted
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
    inside = [other.text[a:b] for a, b in other.token_spans if stranger.start <= a < stranger.end]
    assert list(changed.tokens) == [*first, *inside, *last]
    assert changed.start == sentence.start


@settings(max_examples=40)
@given(st.lists(sentences(), max_size=5), st.lists(sentences(), max_size=6), st.integers(1, 4))
def test_any_adaptive_data(source, target, ratio):
    made = mixed_domain_data(source, target, random.Random(3), PDALNTuneConfig(source_ratio=ratio))
    for sentence in made:
        sound(sentence)
    known = mentions_by_label([*source, *target])
    for sentence in made:
        for entity in sentence.entities:
            assert MentionText.of(sentence, entity) in known[entity.label]
    assert len(made) <= 4 * len(target) + 2 * ratio * len(target)


@settings(max_examples=40)
@given(st.lists(sentences(), max_size=4), st.lists(sentences(), max_size=4), st.integers(0, 5))
def test_as_many_copies_as_there_can_be(plain, strangers, each):
    known = mentions_by_label(strangers)
    made = replace_some_mentions(plain, known, each, random.Random(0))
    possible = sum(
        mention.text != e.text_in(s.text)
        for s in plain
        for e in s.entities
        for mention in known.get(e.label, ())
    )
    assert len(made) == min(each * len(plain), possible)


def corpus(name: str, size: int, bare: int = 0) -> list[Sentence]:
    """One mention a sentence, all different; the first ``bare`` sentences have none."""
    made = [
        Sentence.from_tokens([f"{name}{i}", f"went-{name}{i}"], ["B-PER", "O"]) for i in range(size)
    ]
    return [s.without_entities() for s in made[:bare]] + made[bare:]


@pytest.mark.parametrize(("target", "ratio", "size"), [(100, 5, 1400), (10, 10, 240)])
@pytest.mark.parametrize("bare", [0, 6])
def test_the_counts_of_the_paper(target, ratio, size, bare):
    """100 · 4 + 500 · 2 and, for Webpage, 10 / 100 / 240 (5.3); also where some target sentences
    have no mention to replace."""
    ours, theirs = corpus("t", target, bare), corpus("s", 2000, bare)
    made = mixed_domain_data(theirs, ours, random.Random(1), PDALNTuneConfig(source_ratio=ratio))
    assert len(made) == size
    assert sum(s.tokens[0].startswith("t") for s in made) == 2 * ratio * target  # into source text
    assert len(set(made)) == size


@pytest.mark.parametrize("ratio", [1, 3, 5, 7])
def test_the_ratios_of_table_4(ratio):
    made = mixed_domain_data(
        corpus("s", 900), corpus("t", 100), random.Random(1), PDALNTuneConfig(source_ratio=ratio)
    )
    assert len(made) == 100 * 4 + ratio * 100 * 2


def test_both_directions_cross_the_domains():
    """The paper's own example: each mention moves into the other's sentence."""
    source = [Sentence.from_tokens(["Oslo", "will", "play"], ["B-LOC", "O", "O"])]
    target = [Sentence.from_tokens(["The", "Cape", "Town", "firm"], ["O", "B-LOC", "I-LOC", "O"])]
    made = mixed_domain_data(source, target, random.Random(0))
    assert [s.text for s in made] == ["The Oslo firm", "Cape Town will play"]
    assert made[1].tags == ("B-LOC", "I-LOC", "O", "O")


def test_without_a_type_in_common_there_is_none():
    source, target = bundled_corpus("drug").split("train"), bundled_corpus("gene").split("train")
    assert mixed_domain_data(source, target[:5], random.Random(0)) == []


def test_it_is_named_by_its_seed():
    train = bundled_corpus("gene").split("train")
    one, two, other = (
        mixed_domain_data(train[20:], train[:10], random.Random(seed)) for seed in (1, 1, 2)
    )
    assert one == two != other
    assert len(one) == 140
