"""How names are used in raw text: how often, with capitals or without, alone or within longer names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from adaptner.terms.compiled import COUNTS, CompiledTerms
from adaptner.terms.matching import CAPITALISED, LOWER, NameFinder


class NameCounts:
    """Counts for each entry of compiled terms in one kind of text."""

    def __init__(self, terms: CompiledTerms) -> None:
        self._finder = NameFinder(terms)
        # Not within a longer name; within one; begins with a small letter; as "Iris", not first in a sentence
        self.counts = {name: np.zeros(len(terms), dtype=np.uint32) for name in COUNTS}
        self.tokens = 0

    def add(self, sentences: Sequence[Sequence[str]]) -> None:
        text = self._finder.text(sentences)
        self.tokens += sum(map(len, sentences))
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


def add_counts(terms: CompiledTerms, of_texts: Mapping[str, NameCounts]) -> None:
    """Stores the counts of "field" and "general" text for the entries that any of them has."""
    every = [counts for of_text in of_texts.values() for counts in of_text.counts.values()]
    seen = np.flatnonzero(np.any(every, axis=0)) if every else np.zeros(0, dtype=np.int64)
    terms.arrays["seen"] = seen.astype(np.uint32)
    for text, of_text in of_texts.items():
        terms.facts[f"{text}_tokens"] = max(1, of_text.tokens)
        for name, counts in of_text.counts.items():
            dtype = np.uint16 if counts.max(initial=0) < 1 << 16 else np.uint32
            stored = np.concatenate([[0], counts[seen]]).astype(dtype)
            terms.arrays[f"{text}_{name}"] = stored


def in_batches(
    sentences: Iterable[Sequence[str]], size: int = 2000
) -> Iterable[list[Sequence[str]]]:
    batch: list[Sequence[str]] = []
    for sentence in sentences:
        batch.append(sentence)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
