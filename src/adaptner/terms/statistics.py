"""How names are used in raw text: how often, with capitals or without, alone or within longer names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from adaptner.terms.compiled import COUNTS, CompiledTerms
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.hashing import mixed_word_keys, word_keys
from adaptner.terms.matching import CAPITALISED, LOWER, NameFinder
from adaptner.terms.rules.general import FIELD_FACTOR, ORDINARY_RATE

_JOINED = re.compile(r" ([-–/.+]) ?")  # tokens of one word


class NameCounts:
    """Counts for each entry of compiled terms in one kind of text."""

    def __init__(self, terms: CompiledTerms) -> None:
        self._finder = NameFinder(terms)
        # Not within a longer name; within one; begins with a small letter; as "Iris", not first in a sentence
        self.counts = {name: np.zeros(len(terms), dtype=np.uint32) for name in COUNTS}
        self.words: Counter[str] = Counter()
        self.tokens = 0

    def add(self, sentences: Sequence[Sequence[str]]) -> None:
        text = self._finder.text(sentences)
        self.tokens += sum(map(len, sentences))
        self.words.update(text.words)
        found = self._finder.find(text)
        if not len(found):
            return
        # By start, longest first: what ends no later than an earlier one is within it.
        reach = np.concatenate([[0], np.maximum.accumulate(found.end)[:-1]])
        inside = found.end <= reach
        same = np.zeros(len(found), dtype=bool)  # found with its case and without
        same[1:] = (found.start[1:] == found.start[:-1]) & (found.end[1:] == found.end[:-1])
        inside[same] = inside[np.flatnonzero(same) - 1]
        classes = text.classes[found.start]
        first = np.isin(found.start, text.starts)
        rows = {
            "alone": ~inside,
            "inside": inside,
            "lower": (classes & LOWER) > 0,
            "capitalised": ((classes & CAPITALISED) > 0) & ~first,
        }
        for name, counts in self.counts.items():
            np.add.at(counts, found.entry[rows[name]], 1)


def add_counts(terms: CompiledTerms, counts: Mapping[str, np.ndarray]) -> None:
    """Stores counts, which are called "field_alone" …, for the entries that any of them has."""
    seen = np.flatnonzero(np.any([*counts.values()], axis=0))
    terms.arrays["seen"] = seen.astype(np.uint32)
    for name, values in counts.items():  # whether it is 65,535 or more changes no rule
        stored = np.minimum(values[seen], np.iinfo(np.uint16).max)
        terms.arrays[name] = np.concatenate([[0], stored]).astype(np.uint16)


def ordinary_words(general: Counter[str], field: Counter[str]) -> np.ndarray:
    """The keys of frequent words of general text that the field's text does not have far more often."""
    rates = []
    for counts in (general, field):
        millions = max(1, counts.total() - counts[""]) / 1e6
        rate: defaultdict[int, float] = defaultdict(float)
        for word, count in counts.items():
            if (key := word_keys(word)).folded_length:
                rate[key.singular] += count / millions
        rates.append(rate)
    of_general, of_field = rates
    words = [
        key
        for key, rate in of_general.items()
        if rate > ORDINARY_RATE and of_field[key] < FIELD_FACTOR * rate
    ]
    return np.sort(mixed_word_keys(np.array(words, dtype=np.uint64)))


def in_batches(
    sentences: Iterable[Sequence[str]], size: int = 2000
) -> Iterator[list[Sequence[str]]]:
    batch: list[Sequence[str]] = []
    for sentence in sentences:
        batch.append(sentence)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def frequent_mentions(
    dictionary: Dictionary, sentences: Sequence[Sequence[str]], most: int
) -> dict[str, list[str]]:
    """The most frequent mentions of each kind, as they are mostly written."""
    facts = dictionary.terms.facts
    kinds = [kind for kind in facts["kinds"] if facts["names"][kind]]
    written: dict[str, dict[str, Counter[str]]] = {kind: {} for kind in kinds}
    for batch in in_batches(sentences):
        matches = dictionary.matches(batch)
        for kind in kinds:
            found = dictionary.mentions(matches, kind)
            for start, end in zip(found.start.tolist(), found.end.tolist(), strict=True):
                name = _JOINED.sub(r"\1", " ".join(matches.text.words[start:end]))
                written[kind].setdefault(name.casefold(), Counter())[name] += 1
    return {
        kind: [
            forms.most_common(1)[0][0]
            for forms in sorted(names.values(), key=Counter.total, reverse=True)[:most]
        ]
        for kind, names in written.items()
    }
