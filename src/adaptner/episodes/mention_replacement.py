"""Adaptive data: sentences in which a mention stands for another of its type (PDALN 4.1.1).

A cross-domain anchor pair is a source mention and a target mention of one type; either may take the
other's place. What comes out shares sentence patterns and names across the domains.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adaptner.types import Entity, Sentence, Span

Replacement = tuple[Entity, "MentionText"]


@dataclass(frozen=True)
class MentionText:
    """What stands in an entity's place: its text, and its tokens as offsets into that."""

    text: str
    token_spans: tuple[Span, ...]

    @classmethod
    def of(cls, sentence: Sentence, entity: Entity) -> MentionText:
        spans = tuple(
            (a - entity.start, b - entity.start)
            for a, b in sentence.token_spans
            if entity.start <= a < entity.end
        )
        return cls(entity.text_in(sentence.text), spans)


def mentions_by_label(sentences: Iterable[Sentence]) -> dict[str, list[MentionText]]:
    """The distinct mentions of each type, in the order they come."""
    found: dict[str, dict[MentionText, None]] = {}
    for sentence in sentences:
        for entity in sentence.entities:
            found.setdefault(entity.label, {})[MentionText.of(sentence, entity)] = None
    return {label: list(own) for label, own in found.items()}


def replace_mention(sentence: Sentence, entity: Entity, mention: MentionText) -> Sentence:
    """``mention`` in place of ``entity``, of its type; all that follows moves along."""
    start, by = entity.start, len(mention.text) - (entity.end - entity.start)
    before = [(a, b) for a, b in sentence.token_spans if b <= start]
    inside = [(start + a, start + b) for a, b in mention.token_spans]
    after = [(a + by, b + by) for a, b in sentence.token_spans if a >= entity.end]
    entities = [
        Entity(start, entity.end + by, entity.label)
        if e == entity
        else e.shifted(by if e.start >= entity.end else 0)
        for e in sentence.entities
    ]
    text = sentence.text[:start] + mention.text + sentence.text[entity.end :]
    return Sentence(text, (*before, *inside, *after), tuple(entities), sentence.start)


def replace_some_mentions(
    sentences: Sequence[Sentence],
    known: dict[str, list[MentionText]],
    each: int,
    rng: random.Random,
) -> list[Sentence]:
    """``each`` · len(sentences) copies with one mention replaced by one of ``known``, no two alike of
    one sentence.

    Where a sentence has fewer replacements than ``each`` (no mention at all, or no anchor), others
    are copied more often; there are fewer copies in all only where no replacement is left."""
    possible = [list(possible_replacements(sentence, known)) for sentence in sentences]
    take = [min(each, len(own)) for own in possible]
    missing = each * len(sentences) - sum(take)
    open_ = [i for i, own in enumerate(possible) if take[i] < len(own)]
    while missing and open_:
        for i in open_[:missing]:
            take[i] += 1
        missing -= min(missing, len(open_))
        open_ = [i for i in open_ if take[i] < len(possible[i])]
    return [
        replace_mention(sentence, *chosen)
        for sentence, own, count in zip(sentences, possible, take, strict=True)
        for chosen in rng.sample(own, count)
    ]


def augment_sentences(
    sentences: Sequence[Sentence], others: Iterable[Sentence], each: int, rng: random.Random
) -> list[Sentence]:
    """``each`` copies a sentence whose mentions are replaced by such of their type in the other
    sentences or in ``others``: the copies alone."""
    return replace_some_mentions(sentences, mentions_by_label([*sentences, *others]), each, rng)


def possible_replacements(
    sentence: Sentence, known: dict[str, list[MentionText]]
) -> Iterator[Replacement]:
    """Every anchor pair of the sentence's mentions; a mention is no replacement of itself."""
    for entity in sentence.entities:
        for mention in known.get(entity.label, ()):
            if mention.text != entity.text_in(sentence.text):
                yield entity, mention
