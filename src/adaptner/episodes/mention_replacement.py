"""Augmentation by replacing mentions with others of the same label (PDALN 4.1.1).

With mentions of another domain, the new sentences combine the sentence patterns of one domain with
the names of the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adaptner.types import Entity, Sentence, Span

Replacement = tuple[Entity, "MentionText"]


@dataclass(frozen=True)
class MentionText:
    """The text of a mention and its tokens as offsets in the text."""

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
    """Returns the distinct mentions of each label in order of first occurrence."""
    found: dict[str, dict[MentionText, None]] = {}
    for sentence in sentences:
        for entity in sentence.entities:
            found.setdefault(entity.label, {})[MentionText.of(sentence, entity)] = None
    return {label: list(mentions) for label, mentions in found.items()}


def replace_mention(sentence: Sentence, entity: Entity, mention: MentionText) -> Sentence:
    """Returns the sentence with ``mention`` in place of ``entity``, which keeps its label."""
    start, shift = entity.start, len(mention.text) - (entity.end - entity.start)
    before = [(a, b) for a, b in sentence.token_spans if b <= start]
    inside = [(start + a, start + b) for a, b in mention.token_spans]
    after = [(a + shift, b + shift) for a, b in sentence.token_spans if a >= entity.end]
    entities = [
        Entity(start, entity.end + shift, entity.label)
        if e == entity
        else e.shifted(shift if e.start >= entity.end else 0)
        for e in sentence.entities
    ]
    text = sentence.text[:start] + mention.text + sentence.text[entity.end :]
    return Sentence(text, (*before, *inside, *after), tuple(entities), sentence.start)


def replace_some_mentions(
    sentences: Sequence[Sentence],
    mentions: dict[str, list[MentionText]],
    copies: int,
    rng: random.Random,
) -> list[Sentence]:
    """Returns copies of the sentences with one mention replaced by one of ``mentions``.

    The total is ``copies`` per sentence. If some sentences have fewer possible replacements, others
    are copied more often, as long as they have any left; all copies of a sentence are different.
    """
    possible = [list(possible_replacements(sentence, mentions)) for sentence in sentences]
    counts = [min(copies, len(replacements)) for replacements in possible]
    missing = copies * len(sentences) - sum(counts)
    while missing:
        extendable = [i for i, count in enumerate(counts) if count < len(possible[i])][:missing]
        if not extendable:
            break
        for i in extendable:
            counts[i] += 1
        missing -= len(extendable)
    return [
        replace_mention(sentence, *replacement)
        for sentence, replacements, count in zip(sentences, possible, counts, strict=True)
        for replacement in rng.sample(replacements, count)
    ]


def augment_sentences(
    sentences: Sequence[Sentence], others: Iterable[Sentence], copies: int, rng: random.Random
) -> list[Sentence]:
    """Returns ``copies`` copies per sentence, without the originals.

    One mention of each is replaced by another with its label from ``sentences`` or ``others``.
    """
    return replace_some_mentions(sentences, mentions_by_label([*sentences, *others]), copies, rng)


def possible_replacements(
    sentence: Sentence, mentions: dict[str, list[MentionText]]
) -> Iterator[Replacement]:
    """Yields every entity with every mention of its label that has a different text."""
    for entity in sentence.entities:
        for mention in mentions.get(entity.label, ()):
            if mention.text != entity.text_in(sentence.text):
                yield entity, mention
