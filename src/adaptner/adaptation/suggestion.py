"""Which unlabelled sentences to mark next: those with most that the tagger is unsure of and that no
sentence has shown yet.

What a sentence would bring is the entropy of the tags of its words; a word that the sentences learnt
from, or one chosen before, have shown already counts for less, so that ten sentences are not ten times
the same question (docs/results/trust.md).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from adaptner.adaptation.uncertainty import token_entropies
from adaptner.models.tagger import Tagger
from adaptner.types import Entity, Sentence

SHOWN = 0.2  # what an unsure word counts that has been shown before
ALIKE = 0.6  # share of words in common (Jaccard) from which on two sentences are near-duplicates
KEPT = 2000  # candidates at most, of however much text


@dataclass(frozen=True)
class Suggestion:
    """``gain`` is what it would bring beside those before it, in nats; ``guesses`` are the tagger's."""

    sentence: Sentence
    gain: float
    guesses: tuple[Entity, ...]


@dataclass(frozen=True)
class _Candidate:
    sentence: Sentence
    words: frozenset[str]
    nats: dict[str, float]  # of each distinct word, where it is most unsure

    def gain(self, shown: set[str]) -> float:
        return sum(n * (SHOWN if word in shown else 1) for word, n in self.nats.items())


def select_sentences(
    tagger: Tagger,
    sentences: Iterable[Sentence],
    number: int = 10,
    known: Sequence[Sentence] = (),
) -> list[Suggestion]:
    """The ``number`` sentences, at most, whose marking would help most, best first. None is nearly the
    same as another, nor as one of ``known``, which were marked before."""
    before = [_words(s) for s in known]
    shown = {word for words in before for word in words}
    left = _best(tagger, sentences, max(KEPT, 20 * number), shown)
    chosen: list[tuple[Sentence, float]] = []
    taken = list(before)
    while left and len(chosen) < number:
        best = max(left, key=lambda candidate: candidate.gain(shown))
        left.remove(best)
        if any(_alike(best.words, words) for words in taken):
            continue
        chosen.append((best.sentence, best.gain(shown)))
        taken.append(best.words)
        shown |= best.words
    guesses = tagger.predict_sentences([sentence for sentence, _ in chosen])
    return [
        Suggestion(sentence, round(gain, 4), tuple(own))
        for (sentence, gain), own in zip(chosen, guesses, strict=True)
    ]


def _best(
    tagger: Tagger, sentences: Iterable[Sentence], most: int, shown: set[str]
) -> list[_Candidate]:
    """Gains only fall as others are chosen, so that the greatest are enough."""
    heap: list[tuple[float, int, _Candidate]] = []
    for number, (sentence, nats) in zip(count(), token_entropies(tagger, sentences)):
        by_word: dict[str, float] = {}
        for token, value in zip(sentence.tokens, nats, strict=True):
            word = token.lower()
            by_word[word] = max(value, by_word.get(word, 0.0))
        candidate = _Candidate(sentence, frozenset(by_word), by_word)
        entry = (candidate.gain(shown), -number, candidate)  # of equal ones the first stays
        if len(heap) < most:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    return [candidate for _, _, candidate in sorted(heap, reverse=True)]


def _words(sentence: Sentence) -> frozenset[str]:
    return frozenset(token.lower() for token in sentence.tokens)


def _alike(first: frozenset[str], second: frozenset[str]) -> bool:
    return len(first & second) >= ALIKE * len(first | second)
