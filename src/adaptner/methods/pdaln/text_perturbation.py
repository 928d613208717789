"""Distorted sentences for contrastive learning (PDALN 4.2.1): other words, or fewer.

Labels follow: only words outside mentions are replaced, and a mention that loses words is what is left
of it.
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
    """By the toss of a coin one or the other; where no word has a synonym, words are deleted."""
    if rng.random() < 0.5:
        changed = with_synonyms(sentence, synonyms, rng, replace)
        if changed is not None:
            return changed
    return without_a_span(sentence, rng, delete)


def with_synonyms(
    sentence: Sentence, synonyms: Synonyms, rng: random.Random, share: float
) -> Sentence | None:
    """``share`` of the words that are part of no mention (one at least) give way to a synonym; None
    where none of them has any."""
    tokens, tags = list(sentence.tokens), sentence.tags
    able = [i for i, tag in enumerate(tags) if tag == OUTSIDE and synonyms.of(tokens[i])]
    if not able:
        return None
    wanted = max(1, round(share * tags.count(OUTSIDE)))
    for i in rng.sample(able, min(wanted, len(able))):
        tokens[i] = rng.choice(synonyms.of(tokens[i]))
    return _rebuilt(sentence, range(len(tokens)), tokens)


def without_a_span(sentence: Sentence, rng: random.Random, share: float) -> Sentence:
    """One stretch of ``share`` of the tokens (one at least) is left out; a single token stays."""
    length = len(sentence)
    if length < 2:
        return sentence
    size = min(max(1, round(share * length)), length - 1)
    first = rng.randrange(length - size + 1)
    kept = [i for i in range(length) if not first <= i < first + size]
    return _rebuilt(sentence, kept, sentence.tokens)


def _rebuilt(sentence: Sentence, kept: Sequence[int], tokens: Sequence[str]) -> Sentence:
    """The tokens ``kept``, spelled as ``tokens`` has them, with what stood before each of them."""
    spans = sentence.token_spans
    text = ""
    made: list[Span] = []
    place: dict[int, int] = {}
    for i in kept:
        gap = sentence.text[spans[i - 1][1] if i else 0 : spans[i][0]]
        text += gap if text or not i else ""
        place[i] = len(made)
        made.append((len(text), len(text) + len(tokens[i])))
        text += tokens[i]
    text += sentence.text[spans[-1][1] :]
    entities = []
    for entity in sentence.entities:
        inside = [place[i] for i in kept if entity.start <= spans[i][0] < entity.end]
        if inside:
            entities.append(Entity(made[inside[0]][0], made[inside[-1]][1], entity.label))
    return Sentence(text, tuple(made), tuple(entities), sentence.start)
