"""Strict span scoring: a predicted entity is correct only if its borders and its type are.

Scores are micro-averaged: precision, recall and F1 come from the sums of counts over sentences and
types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TypeVar

from adaptner.errors import WordCountMismatch
from adaptner.text.schemes import find_mentions, parse_tag
from adaptner.types import Entity, Sentence

T = TypeVar("T")
U = TypeVar("U")
Key = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Score:
    """Counts and their precision, recall and F1, which are 0 if there is nothing to divide by."""

    true_positives: int = 0
    predicted: int = 0
    gold: int = 0

    @property
    def precision(self) -> float:
        return self.true_positives / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.true_positives / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        total = self.predicted + self.gold
        return 2 * self.true_positives / total if total else 0.0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.true_positives + other.true_positives,
            self.predicted + other.predicted,
            self.gold + other.gold,
        )


@dataclass(frozen=True)
class Scores:
    """The overall score and one per label of gold or predicted entities, with sorted labels."""

    overall: Score
    by_label: dict[str, Score] = field(default_factory=dict)


def score_entities(
    gold: Iterable[Collection[Entity]], predicted: Iterable[Collection[Entity]]
) -> Scores:
    """Returns the scores of predicted entities, sentence by sentence.

    Only start, end and label matter. Entities that repeat another one do not count.

    Raises ``WordCountMismatch`` if the two sides have different numbers of sentences.
    """
    return _count(
        ({(e.start, e.end, e.label) for e in g}, {(e.start, e.end, e.label) for e in p})
        for _, g, p in _pairs(gold, predicted)
    )


def score_tags(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> Scores:
    """Returns the scores of tag sequences (BIO, IOB1 or BIOES), with the entities of ``tag_spans``."""
    return _count(_spans_of_pairs(gold, predicted))


def correct_tokens(
    gold: Iterable[Sentence], predicted: Iterable[Collection[Entity]]
) -> Counter[str]:
    """Returns, per label, the number of gold entity tokens inside a predicted entity of that label.

    Some papers count these tokens and call them entities (Jia2019's Table 5).
    """
    found: Counter[str] = Counter()
    for _, sentence, entities in _pairs(gold, predicted):
        tagged = replace(sentence, entities=tuple(entities))
        for tag, guess in zip(sentence.tags, tagged.tags, strict=True):
            label = tag.partition("-")[2]
            if label and label == guess.partition("-")[2]:
                found[label] += 1
    return found


def tag_spans(tags: Sequence[str]) -> set[Key]:
    """Returns the entities of a tag sequence as (first token, one past the last, label).

    As in conlleval, a tag that does not continue an entity begins one: I- after O, after another
    type or after E-/S-. The tags B and I without a label get the default label.
    """
    return {(m.first, m.last + 1, m.label) for m in find_mentions([parse_tag(t) for t in tags])}


def _spans_of_pairs(
    gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]
) -> Iterator[tuple[set[Key], set[Key]]]:
    for number, g, p in _pairs(gold, predicted):
        if len(g) != len(p):
            raise WordCountMismatch(number=number, reason=f"{len(g)} gold tags, {len(p)} predicted")
        yield tag_spans(g), tag_spans(p)


def _count(pairs: Iterable[tuple[set[Key], set[Key]]]) -> Scores:
    correct: Counter[str] = Counter()
    n_predicted: Counter[str] = Counter()
    n_gold: Counter[str] = Counter()
    for gold, predicted in pairs:
        n_gold.update(label for _, _, label in gold)
        n_predicted.update(label for _, _, label in predicted)
        correct.update(label for _, _, label in gold & predicted)
    labels = sorted(n_gold.keys() | n_predicted.keys())
    by_label = {label: Score(correct[label], n_predicted[label], n_gold[label]) for label in labels}
    return Scores(sum(by_label.values(), Score()), by_label)


_MISSING = object()


def _pairs(gold: Iterable[T], predicted: Iterable[U]) -> Iterator[tuple[int, T, U]]:
    """Yields both sides in pairs, numbered from 1. Raises if one side is longer."""
    for number, (g, p) in enumerate(zip_longest(gold, predicted, fillvalue=_MISSING), start=1):
        if g is _MISSING or p is _MISSING:
            short = "gold" if g is _MISSING else "predicted"
            raise WordCountMismatch(number=number, reason=f"the {short} side ends before it")
        yield number, g, p  # type: ignore[misc]
