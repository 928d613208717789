"""Finds the names of a compiled file in tokenised text, many spans at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.hashing import (
    MAX_KEY_LENGTH,
    POWERS,
    SHORT_SPAN,
    letters_and_digits,
    mixed_symbol_keys,
    mixed_word_keys,
    word_keys,
)

LONG_SPAN = 24  # tokens
MAX_CACHED_WORDS = 300_000

# What a word is, as bits
(
    HAS_KEY,
    FUNCTION,
    BARRIER,
    OPENS,
    CLOSES,
    DIGITS,
    LOWER,
    CAPITALISED,
    UPPER,
    MIXED,
    LETTER,
    LATIN,
) = (1 << i for i in range(12))
# The endings of four fifths of the epithets of species: "coli", "aureus", "elegans".
_LATIN = re.compile(
    r"[a-z]{2,}(?:(?<!o)us|um|is|ae|ea|ia|[cdlmnrst]a|[eilnorsty]i|ans|ens|oides|ense|ax|ix|ex)"
)
_FUNCTION_WORDS = frozenset(
    "a an the of in on at by for to from with without and or nor but as is are was were be been being has have had "
    "that which who whose this these those it its their our we they he she his her not no than then into onto via per "
    "after before during between among within under over both either neither each all any some such if while when "
    "where because although however also only very can could may might will would shall should must do does did".split()
)
_BARRIERS = frozenset(";:?!")
_POWERS = np.array(POWERS, dtype=np.uint64)


def word_class(word: str) -> int:
    if not any(c.isalnum() for c in word):
        if word in "([{":
            return OPENS
        if word in ")]}":
            return CLOSES
        return BARRIER if word in _BARRIERS else 0
    bits = HAS_KEY
    if word in _FUNCTION_WORDS or (
        word[:1].isupper()
        and word.lower() in _FUNCTION_WORDS
        and len(word) > 1
        and not word.isupper()
    ):
        bits |= FUNCTION
    if word.isdigit():
        return bits | DIGITS
    if len(word) == 1:
        bits |= LETTER
    if word.islower():
        return bits | (LOWER | LATIN if _LATIN.fullmatch(word) else LOWER)
    if word[0].isupper() and (word[1:].islower() and len(word) > 1):
        return bits | CAPITALISED
    return bits | (UPPER if word.isupper() else MIXED)


def can_match(words: Sequence[str]) -> bool:
    """Whether `NameFinder` can find a name of these words, if it is written so."""
    classes = [word_class(word) for word in words]
    if not classes or len(words) > LONG_SPAN or any(c & BARRIER for c in classes):
        return False
    depth = sum(bool(c & OPENS) - bool(c & CLOSES) for c in classes)
    first_and_last = [bool(c & HAS_KEY) and not c & FUNCTION for c in (classes[0], classes[-1])]
    return depth == 0 and first_and_last[0] and (first_and_last[1] or bool(classes[-1] & CLOSES))


class WordCache:
    """Keys and classes of all words met so far, in arrays indexed by a word's number."""

    def __init__(self) -> None:
        self._adding = Lock()
        self._columns: dict[Hashable, np.ndarray] = {}
        self.numbers: dict[str, int] = {"": 0}
        self._words = [""]
        size = 4096
        self.keys = np.zeros((3, size), dtype=np.uint64)  # folded, singular, exact
        self.lengths = np.zeros((3, size), dtype=np.int32)
        self.classes = np.zeros(size, dtype=np.uint16)
        self.classes[0] = BARRIER
        self.letters = np.zeros((3, size), dtype=np.uint8)  # small, capital, digits

    def column(self, key: Hashable, value: Callable[[str], object], dtype: str) -> np.ndarray:
        """``value`` of each word; ``key`` says which one it is, so that each word is computed once."""
        known = self._columns.get(key)
        if known is None or len(known) < len(self._words):
            with self._adding:
                known = self._columns.get(key, np.zeros(0, dtype=dtype))
                new = [value(word) for word in self._words[len(known) :]]
                known = self._columns[key] = np.concatenate([known, np.array(new, dtype=dtype)])
        return known

    def numbers_of(self, words: Iterable[str]) -> np.ndarray:
        numbers = self.numbers
        found = [numbers.get(word, -1) for word in words]
        if -1 in found:
            found = [
                self._add(word) if number < 0 else number
                for word, number in zip(words, found, strict=True)
            ]
        return np.array(found, dtype=np.int64)

    def _add(self, word: str) -> int:
        with self._adding:
            if (known := self.numbers.get(word)) is not None:
                return known
            number = len(self.numbers)
            if number == len(self.classes):
                self.keys = np.concatenate([self.keys, np.zeros_like(self.keys)], 1)
                self.lengths = np.concatenate([self.lengths, np.zeros_like(self.lengths)], 1)
                self.classes = np.concatenate([self.classes, np.zeros_like(self.classes)])
                self.letters = np.concatenate([self.letters, np.zeros_like(self.letters)], 1)
            if len(word) > MAX_KEY_LENGTH:  # no name: a sequence, or garbage
                self.classes[number] = BARRIER
            else:
                k = word_keys(word)
                self.keys[:, number] = k.folded, k.singular, k.exact
                self.lengths[:, number] = k.folded_length, k.singular_length, k.exact_length
                self.classes[number] = word_class(word)
                letters = letters_and_digits(word)
                self.letters[:, number] = (
                    sum(c.islower() for c in letters),
                    sum(c.isupper() for c in letters),
                    sum(c.isdigit() for c in letters),
                )
            self._words.append(word)
            self.numbers[word] = number
            return number


@dataclass(frozen=True, eq=False)
class Text:
    """Sentences one after another, with a barrier in front of each and after the last."""

    words: list[str]  # "" is a barrier
    classes: np.ndarray
    starts: np.ndarray  # position of the first token of each sentence
    numbers: np.ndarray
    letters: np.ndarray  # (3, positions): how many small letters, capitals and digits
    _cache: WordCache

    @cached_property
    def lower(self) -> list[str]:
        return [word.lower() for word in self.words]

    def is_one_of(self, words: frozenset[str]) -> np.ndarray:
        """For each position, whether its word is one of ``words``, which are in lower case."""
        found: np.ndarray = self._cache.column(words, lambda word: word.lower() in words, "?")[
            self.numbers
        ]
        return found

    def passes(self, test: Callable[[str], bool]) -> np.ndarray:
        """For each position, whether its word passes ``test``: a function of a module, not a lambda,
        because the answers are kept."""
        return self.values(test, "?")

    def values(self, value: Callable[[str], object], dtype: str) -> np.ndarray:
        """For each position, ``value`` of its word, which is kept as the answers of `passes` are."""
        found: np.ndarray = self._cache.column(value, value, dtype)[self.numbers]
        return found


@dataclass(frozen=True, eq=False)
class Candidates:
    """Spans whose words are a name: positions in a `Text`, entries of the compiled file."""

    start: np.ndarray
    end: np.ndarray
    entry: np.ndarray
    exact: np.ndarray  # with its case

    def __len__(self) -> int:
        return len(self.start)

    def select(self, rows: np.ndarray) -> Candidates:
        return Candidates(self.start[rows], self.end[rows], self.entry[rows], self.exact[rows])


class NameFinder:
    def __init__(self, terms: CompiledTerms) -> None:
        self.terms = terms
        self._words = WordCache()

    def text(self, sentences: Sequence[Sequence[str]]) -> Text:
        if len(self._words.numbers) > MAX_CACHED_WORDS:
            self._words = WordCache()  # texts keep the one that has numbered their words
        cache = self._words
        words = [""]
        starts = []
        for sentence in sentences:
            starts.append(len(words))
            words += sentence
            words.append("")
        numbers = cache.numbers_of(words)
        letters = cache.letters[:, numbers]
        return Text(
            words, cache.classes[numbers], np.array(starts, dtype=np.int64), numbers, letters, cache
        )

    def symbol_keys(self, text: Text) -> np.ndarray:
        """The key of each word with its case, mixed."""
        return mixed_symbol_keys(text._cache.keys[2, text.numbers])

    def find(self, text: Text) -> Candidates:
        """All names, also within each other; by start, longest first."""
        cache, numbers, classes = text._cache, text.numbers, text.classes
        size = len(numbers)
        folded, last, exact = cache.keys[:, numbers]
        folded_length, last_length, exact_length = cache.lengths[:, numbers]
        barriers = np.cumsum((classes & BARRIER) > 0)
        depth = np.cumsum(((classes & OPENS) > 0).astype(np.int32) - ((classes & CLOSES) > 0))
        letters = np.cumsum(folded_length)
        edge = ((classes & HAS_KEY) > 0) & ((classes & FUNCTION) == 0)
        close = edge | ((classes & CLOSES) > 0)  # "PGE ( 2 )"
        first = np.flatnonzero(edge)
        # Keys of spans from each first token, extended by one token at a time.
        word_key = np.zeros(size, dtype=np.uint64)
        symbol_key = np.zeros(size, dtype=np.uint64)
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, bool]] = []
        active = first
        for length in range(1, LONG_SPAN + 1):
            end = active + length - 1
            inside = end < size
            active, end = active[inside], end[inside]
            open_ = barriers[end] == barriers[active]
            active, end = active[open_], end[open_]
            if not len(active):
                break
            with np.errstate(over="ignore"):
                closing = word_key[active] * _POWERS[last_length[end]] + last[end]
                word_key[active] = word_key[active] * _POWERS[folded_length[end]] + folded[end]
                symbol_key[active] = symbol_key[active] * _POWERS[exact_length[end]] + exact[end]
            whole = close[end]
            if length > 1:
                whole = whole & (depth[end] == depth[active])
            whole &= letters[end] - letters[active] < MAX_KEY_LENGTH
            at, stop = active[whole], end[whole] + 1
            for keys, is_exact in (
                (mixed_word_keys(closing[whole]), False),
                (mixed_symbol_keys(symbol_key[at]), True),
            ):
                entry = self.terms.find(keys)
                hit = np.flatnonzero(entry >= 0)
                if len(hit):
                    parts.append((at[hit], stop[hit], entry[hit], is_exact))
            if length == SHORT_SPAN:
                known = self.terms.begins(mixed_word_keys(word_key[active]))
                active = active[known]
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            return Candidates(none, none, none, none.astype(bool))
        start = np.concatenate([p[0] for p in parts])
        end = np.concatenate([p[1] for p in parts])
        entry = np.concatenate([p[2] for p in parts])
        exact_ = np.concatenate([np.full(len(p[0]), p[3]) for p in parts])
        order = np.lexsort((~exact_, -end, start))
        return Candidates(start[order], end[order], entry[order], exact_[order])
