"""Selects unlabelled sentences to annotate next: those with many new words that the tagger is uncertain
about.

The gain of a sentence is the sum of its words' tag entropies. A word that an annotated or selected
sentence contains already counts less, so that the selected sentences differ (docs/results/trust.md).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from adaptner.adaptation.uncertainty import token_entropies
from adaptner.models.tagger import Tagger
from adaptner.types import Entity, Sentence

SEEN_WEIGHT = 0.2  # of the entropy of a word that another sentence contains already
MIN_OVERLAP = 0.6  # Jaccard similarity from which two sentences are near-duplicates
MAX_CANDIDATES = 2000  # kept in memory


@dataclass(frozen=True)
class Suggestion:
    """``gain`` is in nats, given the suggestions before; ``guesses`` are the tagger's predictions."""

    sentence: Sentence
    gain: float
    guesses: tuple[Entity, ...]


@dataclass(frozen=True)
class _Candidate:
    sentence: Sentence
    nats: dict[str, float]  # the highest entropy of each distinct word

    def gain(self, shown: set[str]) -> float:
        return sum(n * (SEEN_WEIGHT if word in shown else 1) for word, n in self.nats.items())


def select_sentences(
    tagger: Tagger,
    sentences: Iterable[Sentence],
    number: int = 10,
    known: Sequence[Sentence] = (),
) -> list[Suggestion]:
    """At most ``number`` sentences, those with the highest gain first, without near-duplicates of each
    other and of the annotated sentences ``known``."""
    taken = [{token.lower() for token in s.tokens} for s in known]
    shown = set().union(*taken)
    left = _best(tagger, sentences, max(MAX_CANDIDATES, 20 * number), shown)
    chosen: list[tuple[Sentence, float]] = []
    while left and len(chosen) < number:
        best = max(left, key=lambda candidate: candidate.gain(shown))
        left.remove(best)
        words = set(best.nats)
        if any(_alike(words, other) for other in taken):
            continue
        chosen.append((best.sentence, best.gain(shown)))
        taken.append(words)
        shown |= words
    guesses = tagger.predict_sentences([sentence for sentence, _ in chosen])
    return [
        Suggestion(sentence, round(gain, 4), tuple(own))
        for (sentence, gain), own in zip(chosen, guesses, strict=True)
    ]


def _best(
    tagger: Tagger, sentences: Iterable[Sentence], most: int, shown: set[str]
) -> list[_Candidate]:
    """The candidates with the highest gains; more are not needed, since gains only decrease."""
    heap: list[tuple[float, int, _Candidate]] = []
    for number, (sentence, nats) in zip(count(), token_entropies(tagger, sentences)):
        by_word: dict[str, float] = {}
        for token, value in zip(sentence.tokens, nats, strict=True):
            word = token.lower()
            by_word[word] = max(value, by_word.get(word, 0.0))
        candidate = _Candidate(sentence, by_word)
        entry = (candidate.gain(shown), -number, candidate)  # of equal gains the first stays
        if len(heap) < most:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    return [candidate for _, _, candidate in sorted(heap, reverse=True)]


def _alike(first: set[str], second: set[str]) -> bool:
    return len(first & second) >= MIN_OVERLAP * len(first | second)
