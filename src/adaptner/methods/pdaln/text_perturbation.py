"""Distorted copies of sentences for contrastive learning (PDALN, section 4.2.1): synonyms or deletion.

Labels follow the text: only words outside mentions are replaced, and a mention that loses words
shrinks to those that are left.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from adaptner.methods.pdaln.synonyms import Synonyms
from adaptner.types import OUTSIDE, Entity, Sentence, Span


def perturb(
    sentence: Sentence,
    synonyms: Synonyms,
    rng: random.Random,
    *,
    replace: float = 0.3,
    delete: float = 0.25,
) -> Sentence:
    """Replace a share of the words by synonyms or delete a share of the tokens, with equal
    probability. If no word has a synonym, delete."""
    if rng.random() < 0.5:
        changed = with_synonyms(sentence, synonyms, rng, replace)
        if changed is not None:
            return changed
    return without_a_span(sentence, rng, delete)


def with_synonyms(
    sentence: Sentence, synonyms: Synonyms, rng: random.Random, share: float
) -> Sentence | None:
    """The sentence with a synonym for ``share`` of the words outside mentions, at least one, or None
    if none of them has a synonym."""
    tokens, tags = list(sentence.tokens), sentence.tags
    replaceable = [i for i, tag in enumerate(tags) if tag == OUTSIDE and synonyms.of(tokens[i])]
    if not replaceable:
        return None
    count = max(1, round(share * tags.count(OUTSIDE)))
    for i in rng.sample(replaceable, min(count, len(replaceable))):
        tokens[i] = rng.choice(synonyms.of(tokens[i]))
    return _rebuild(sentence, range(len(tokens)), tokens)


def without_a_span(sentence: Sentence, rng: random.Random, share: float) -> Sentence:
    """The sentence without one span of ``share`` of its tokens, at least one. A sentence of one token
    does not change."""
    length = len(sentence)
    if length < 2:
        return sentence
    size = min(max(1, round(share * length)), length - 1)
    first = rng.randrange(length - size + 1)
    kept = [i for i in range(length) if not first <= i < first + size]
    return _rebuild(sentence, kept, sentence.tokens)


def _rebuild(sentence: Sentence, kept: Sequence[int], tokens: Sequence[str]) -> Sentence:
    """The tokens numbered ``kept``, spelled as in ``tokens``, each with the gap that precedes it."""
    spans = sentence.token_spans
    text = ""
    new_spans: list[Span] = []
    new_index: dict[int, int] = {}
    for i in kept:
        gap = sentence.text[spans[i - 1][1] if i else 0 : spans[i][0]]
        text += gap if text or not i else ""
        new_index[i] = len(new_spans)
        new_spans.append((len(text), len(text) + len(tokens[i])))
        text += tokens[i]
    text += sentence.text[spans[-1][1] :]
    entities = []
    for entity in sentence.entities:
        inside = [new_index[i] for i in kept if entity.start <= spans[i][0] < entity.end]
        if inside:
            entities.append(Entity(new_spans[inside[0]][0], new_spans[inside[-1]][1], entity.label))
    return Sentence(text, tuple(new_spans), tuple(entities), sentence.start)
