"""Tests of alignment: sentences keep their entities, and misplaced entities are reported."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.errors import BadEntity, EntityOffTokens, OverlappingEntities
from adaptner.text.alignment import find_problems, to_sentences
from adaptner.text.tokenizer import tokenize
from adaptner.types import Document, Entity, Sentence

TEXT = "Loss of TP53 hurts. We saw IL-2 rise."


def test_sentences_have_tokens_tags_and_entities_of_the_document():
    gene, second = TEXT.index("TP53"), TEXT.index("IL-2")
    document = Document(TEXT, (Entity(second, second + 4, "G", 0.5), Entity(gene, gene + 4, "G")))
    first, last = to_sentences(document)
    assert first.tokens == ("Loss", "of", "TP53", "hurts", ".")
    assert first.tags == ("O", "O", "B-G", "O", "O")
    assert last.start == TEXT.index("We")
    assert last.tokens == ("We", "saw", "IL", "-", "2", "rise", ".")
    assert last.tags == ("O", "O", "B-G", "I-G", "I-G", "O", "O")
    assert last.entities[0].score == 0.5
    assert last.entities[0].text_in(last.text) == "IL-2"


def test_pretokenised_document_is_one_sentence():
    sentence = Sentence.from_tokens(["U.S.", "won", ".", "They"], ["B-L", "O", "O", "O"])
    document = Document(sentence.text, sentence.entities, token_spans=sentence.token_spans)
    assert to_sentences(document) == [sentence]


def test_entity_inside_a_word_raises_with_the_word_as_suggestion():
    document = Document(TEXT, (Entity(9, 12, "G"),))
    with pytest.raises(EntityOffTokens) as caught:
        to_sentences(document, "a.jsonl", 7)
    assert str(caught.value).startswith("a.jsonl:7: entity 1 ('P53', 9-12)")
    assert caught.value.facts["suggestion"] == "TP53"
    assert (caught.value.facts["new_start"], caught.value.facts["new_end"]) == (8, 12)


def test_suggestion_leaves_out_white_space_around_the_entity():
    with pytest.raises(EntityOffTokens) as caught:
        to_sentences(Document(TEXT, (Entity(7, 13, "G"),)))
    assert caught.value.facts["suggestion"] == "TP53"


@pytest.mark.parametrize(
    ("entity", "reason"),
    [
        (Entity(30, 99, "G"), "outside the text"),
        (Entity(-1, 4, "G"), "outside the text"),
        (Entity(4, 4, "G"), "not before"),
        (Entity(4, 5, "G"), "only white space"),
        (Entity(0, 4, ""), "label is empty"),
    ],
)
def test_entity_out_of_range_or_without_label_raises(entity, reason):
    with pytest.raises(BadEntity, match=reason):
        to_sentences(Document(TEXT, (entity,)))


@pytest.mark.parametrize("second", [Entity(0, 4, "G"), Entity(5, 12, "G"), Entity(8, 12, "H")])
def test_overlapping_entities_raise(second):
    with pytest.raises(OverlappingEntities):
        to_sentences(Document(TEXT, (second, Entity(0, 12, "G", 0.1))))


def test_find_problems_returns_every_problem():
    entities = (Entity(9, 12, "G"), Entity(50, 60, "G"), Entity(0, 12, "G"))
    kinds = [type(p) for p in find_problems(Document(TEXT, entities))]
    assert kinds == [EntityOffTokens, BadEntity, OverlappingEntities]
    assert find_problems(Document(TEXT)) == []


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="aB1.? \n(-", max_size=50), st.data())
def test_entities_on_tokens_are_kept(text, data):
    tokens = tokenize(text)
    boundaries = sorted(
        data.draw(st.sets(st.integers(0, max(len(tokens) - 1, 0)), max_size=4)) if tokens else []
    )
    entities = tuple(
        Entity(tokens[i][0], tokens[j - 1][1], "X") for i, j in pairwise([*boundaries, len(tokens)])
    )
    sentences = to_sentences(Document(text, entities))
    found = tuple(e.shifted(s.start) for s in sentences for e in s.entities)
    assert found == entities
    assert [(a + s.start, b + s.start) for s in sentences for a, b in s.token_spans] == tokens
    for sentence in sentences:
        assert sentence.with_tags(sentence.tags).entities == sentence.entities
