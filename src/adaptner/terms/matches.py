"""What rules read: names found in a batch of sentences, with what the compiled file knows of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.matching import Candidates, NameFinder, Text

_MAX_SHIFT = 8  # tokens between the beginnings of a name and of a longer one that contains it


@dataclass(frozen=True, eq=False)
class Spans:
    """Possible mentions of a kind: token positions in a `Text`, entries (-1 if in no list) and doubts."""

    start: np.ndarray
    end: np.ndarray
    entry: np.ndarray
    doubts: np.ndarray

    @classmethod
    def of(
        cls, start: ArrayLike, end: ArrayLike, entry: ArrayLike | None = None, doubts: ArrayLike = 0
    ) -> Spans:
        start, end = np.asarray(start, dtype=np.int64), np.asarray(end, dtype=np.int64)
        entry = np.full(len(start), -1) if entry is None else np.asarray(entry, dtype=np.int64)
        return cls(
            start,
            end,
            entry,
            np.broadcast_to(np.asarray(doubts, dtype=np.uint32), start.shape).copy(),
        )

    def __len__(self) -> int:
        return len(self.start)

    def select(self, rows: np.ndarray) -> Spans:
        return Spans(self.start[rows], self.end[rows], self.entry[rows], self.doubts[rows])

    def __add__(self, other: Spans) -> Spans:
        return Spans(
            *(
                np.concatenate([getattr(self, n), getattr(other, n)])
                for n in ("start", "end", "entry", "doubts")
            )
        )


class Matches:
    """All names in a batch of sentences; the arrays have one value for each match."""

    def __init__(self, finder: NameFinder, text: Text) -> None:
        self.terms: CompiledTerms = finder.terms
        self.text = text
        self._finder = finder
        found: Candidates = finder.find(text)
        self.start, self.end, self.entry, self.exact = (
            found.start,
            found.end,
            found.entry,
            found.exact,
        )

    def __len__(self) -> int:
        return len(self.start)

    def select(self, rows: np.ndarray) -> Matches:
        """Some of the matches, as if the others had not been found."""
        part = object.__new__(Matches)
        part.terms, part.text, part._finder = self.terms, self.text, self._finder
        part.start, part.end = self.start[rows], self.end[rows]
        part.entry, part.exact = self.entry[rows], self.exact[rows]
        return part

    @cached_property
    def kinds(self) -> np.ndarray:
        """(matches, words of 64 bits)"""
        return self.terms.kinds_of(self.entry)

    def has(self, *names: str) -> np.ndarray:
        """Whether the name has any of these kinds or attributes."""
        found: np.ndarray = self.terms.sets_with(names)[self.terms.arrays["kind_set"][self.entry]]
        return found

    @cached_property
    def _containers(self) -> np.ndarray:
        """The kinds of longer names that contain the match: only those of `kinds.toml`."""
        kinds = self.kinds[:, : self.terms.words_of_kinds]
        size = len(self.text.words)
        longest = np.full(size + 1, -1, dtype=np.int64)
        longest[self.start[::-1]] = np.arange(len(self))[::-1]  # sorted by start, longest first
        found = np.zeros_like(kinds)
        length = self.end - self.start
        for shift in range(_MAX_SHIFT + 1):
            at = self.start - shift
            other = np.where(at >= 0, longest[np.maximum(at, 0)], -1)
            contains = (other >= 0) & (self.end[other] >= self.end) & (length[other] > length)
            found[contains] |= kinds[other[contains]]
        return found

    def within(self, *names: str) -> np.ndarray:
        """Whether the match lies within a longer name that has any of these kinds."""
        mask = self.terms.mask_of(names)[: self.terms.words_of_kinds]
        found: np.ndarray = ((self._containers & mask) != 0).any(1)
        return found

    def marked(self, mark: int) -> np.ndarray:
        """``mark``: 1 preferred name of a concept, 2 only a related synonym, 4 a symbol somewhere."""
        return self.terms.marked(self.entry, mark)

    @property
    def breadth(self) -> np.ndarray:
        """The logarithm (to 2) of how many concepts are below the name's: 0 if none, 10 if a thousand."""
        return self.terms.breadth(self.entry)

    def count(self, name: str) -> np.ndarray:
        """How often the name was seen: "field_alone", "field_inside", "field_lower", "field_capitalised",
        and the same in general text."""
        return self.terms.counts(name)[self.entry]

    def rate(self, name: str) -> np.ndarray:
        """`count` in a million words of the same text."""
        words = self.terms.facts.get(f"{name.partition('_')[0]}_tokens", 1e6)
        found: np.ndarray = self.count(name) * (1e6 / words)
        return found

    @cached_property
    def letters(self) -> np.ndarray:
        """(3, matches): how many small letters, capitals and digits a match has."""
        sums = np.cumsum(self.text.letters, axis=1, dtype=np.int32)
        return sums[:, self.end - 1] - sums[:, self.start - 1]

    @cached_property
    def _abbreviations(self) -> np.ndarray:
        """For each position of the text, the row of its word in the counts of abbreviations, or -1."""
        known = self.terms.arrays.get("abbreviations", np.zeros(0, dtype=np.uint64))
        keys = self._finder.symbol_keys(self.text)
        if not len(known):
            return np.full(len(keys), -1)
        rows = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[rows] == keys, rows, -1)

    def definitions(self, kind: str | None = None) -> np.ndarray:
        """For each position of the text, how often raw text defines its word as an abbreviation; with
        ``kind`` as one of that kind."""
        rows = self._abbreviations
        if not len(self.terms.arrays.get("abbreviations", ())):
            return np.zeros(len(rows), dtype=np.int64)
        column = 0 if kind is None else 1 + self.terms.facts["abbreviation_kinds"].index(kind)
        counts = self.terms.arrays["abbreviation_counts"][:, column]
        return np.where(rows >= 0, counts[rows], 0).astype(np.int64)

    def abbreviation_share(self, kind: str) -> np.ndarray:
        """Of the definitions in raw text of the match as an abbreviation, the share whose long form is of
        the kind; nan if there is none."""
        defined = np.where(self.single, self.definitions()[self.start], 0)
        share = self.definitions(kind)[self.start] / np.maximum(1, defined)
        return np.where(defined > 0, share, np.nan)

    def word(self, offset: int) -> np.ndarray:
        """The class bits of the token ``offset`` after the match (0 is the first after it; -1 is the
        last token of the match)."""
        found: np.ndarray = self.text.classes[
            np.minimum(self.end + offset, len(self.text.classes) - 1)
        ]
        return found

    def word_before(self) -> np.ndarray:
        found: np.ndarray = self.text.classes[self.start - 1]
        return found

    @cached_property
    def single(self) -> np.ndarray:
        found: np.ndarray = self.end - self.start == 1
        return found

    def is_word(self, words: frozenset[str], offset: int = 0) -> np.ndarray:
        """Whether the token ``offset`` after the match is one of ``words`` (lower case)."""
        found: np.ndarray = self.text.is_one_of(words)[
            np.minimum(self.end + offset, len(self.text.words) - 1)
        ]
        return found

    def starts_with(self, words: frozenset[str]) -> np.ndarray:
        found: np.ndarray = self.text.is_one_of(words)[self.start]
        return found

    def ends_with(self, words: frozenset[str]) -> np.ndarray:
        found: np.ndarray = self.text.is_one_of(words)[self.end - 1]
        return found

    def preceded_by(self, words: frozenset[str]) -> np.ndarray:
        found: np.ndarray = self.text.is_one_of(words)[self.start - 1]
        return found

    def spans(self, rows: np.ndarray, doubts: np.ndarray | int = 0) -> Spans:
        chosen = np.broadcast_to(np.asarray(doubts, dtype=np.uint32), (len(self),))[rows]
        return Spans(self.start[rows], self.end[rows], self.entry[rows], chosen.copy())
