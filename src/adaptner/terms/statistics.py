"""How names are used in raw text: how often, with capitals or without, alone or within longer names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from adaptner.terms.matching import CAPITALISED, LOWER, NameFinder

_BATCH = 2000  # sentences


class NameCounts:
    """Counts for each entry of a compiled file."""

    def __init__(self, entries: int) -> None:
        self.alone = np.zeros(entries, dtype=np.uint32)  # not within a longer name
        self.inside = np.zeros(entries, dtype=np.uint32)  # within a longer name
        self.lower = np.zeros(entries, dtype=np.uint32)  # begins with a small letter
        self.capitalised = np.zeros(entries, dtype=np.uint32)  # as "Iris", not first in its sentence
        self.tokens = 0

    def add(self, finder: NameFinder, sentences: Iterable[Sequence[str]]) -> None:
        batch: list[Sequence[str]] = []
        for sentence in sentences:
            batch.append(sentence)
            if len(batch) == _BATCH:
                self._add(finder, batch)
                batch = []
        if batch:
            self._add(finder, batch)

    def _add(self, finder: NameFinder, sentences: Sequence[Sequence[str]]) -> None:
        text = finder.text(sentences)
        self.tokens += len(text.words) - len(sentences) - 1
        found = finder.find(text)
        if not len(found):
            return
        reach = np.concatenate([[0], np.maximum.accumulate(found.end)[:-1]])
        same = np.concatenate([[False], (found.start[1:] == found.start[:-1]) & (found.end[1:] == found.end[:-1])])
        inside = (found.end <= reach) & ~same
        for i in np.flatnonzero(same):  # the same span found with its case and without
            inside[i] = inside[i - 1]
        classes = text.classes[found.start]
        first = np.isin(found.start, text.starts)
        for counts, rows in (
            (self.alone, ~inside),
            (self.inside, inside),
            (self.lower, (classes & LOWER) > 0),
            (self.capitalised, ((classes & CAPITALISED) > 0) & ~first),
        ):
            np.add.at(counts, found.entry[rows], 1)
