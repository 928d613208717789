"""Keys of names: numbers that compose, so that all spans of a text are looked up at once.

A name has no word borders here: "IL-2", "IL 2" and "IL2" have one key. The key of two words is computed
from theirs, h(ab) = h(a) B^|b| + h(b) modulo 2^64, so the key of every span follows from sums over its
words. Words of names are compared without case and plural endings; symbols such as "TNF" keep their case.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from adaptner.text.label_names import singular
from adaptner.text.tokenizer import tokenize

MODULUS = 1 << 64
FACTOR = 0x9E3779B97F4A7C55  # odd, so that powers do not vanish
MAX_KEY_LENGTH = 200  # characters of a name; longer ones do not occur in text
SHORT_SPAN = 8  # tokens; of longer names the beginning is looked up first
_WORD_SEED, _SYMBOL_SEED = 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7

_GREEK = {
    chr(code): unicodedata.name(chr(code)).split()[-1].lower()
    for code in (*range(0x3B1, 0x3CA), *range(0x391, 0x3AA))
    if unicodedata.name(chr(code), "")
}
_GREEK |= {"µ": "mu", "ς": "sigma"}
_LOWER_RUN = re.compile(r"[a-z]{4}")


class WordKeys(NamedTuple):
    """The parts of a word's keys: with the plural ending and without, and with its case."""

    folded: int
    folded_length: int
    singular: int
    singular_length: int
    exact: int
    exact_length: int


def letters_and_digits(word: str) -> str:
    """The word with its case, but without accents and marks, and with Greek letters spelt out."""
    if not word.isascii():
        word = "".join(_GREEK.get(c, c) for c in word)
        word = unicodedata.normalize("NFKD", word)
    return "".join(c for c in word if c.isalnum())


def fold(word: str) -> str:
    return letters_and_digits(word).casefold()


def _hash(text: str) -> int:
    value = 0
    for c in text:
        value = (value * FACTOR + ord(c) + 1) & (MODULUS - 1)
    return value


@lru_cache(maxsize=500_000)
def word_keys(word: str) -> WordKeys:
    exact = letters_and_digits(word)
    folded = exact.casefold()
    ending = singular(folded) if folded.isalpha() else folded
    if len(exact) > 2 and exact[-1] == "s" and exact[-2].isupper():  # GPCRs
        exact, ending = exact[:-1], folded[:-1]
    return WordKeys(
        _hash(folded), len(folded), _hash(ending), len(ending), _hash(exact), len(exact)
    )


def mix(keys: np.ndarray, seed: int) -> np.ndarray:
    """Spreads keys over all 64 bits (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        x = keys ^ np.uint64(seed)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def mixed_word_keys(keys: np.ndarray) -> np.ndarray:
    return mix(keys, _WORD_SEED)


def mixed_symbol_keys(keys: np.ndarray) -> np.ndarray:
    return mix(keys, _SYMBOL_SEED)


def powers() -> np.ndarray:
    """FACTOR to the power of 0 to MAX_KEY_LENGTH."""
    values = [1]
    for _ in range(4 * MAX_KEY_LENGTH):  # a letter may fold to several
        values.append(values[-1] * FACTOR & (MODULUS - 1))
    return np.array(values, dtype=np.uint64)


POWERS = [int(p) for p in powers()]


class NameKey(NamedTuple):
    word: int  # without case and plural ending
    symbol: int  # with case
    length: int  # letters and digits
    tokens: int


def name_key(name: str) -> NameKey | None:
    """The keys of a name, before mixing; None if it has no letter or is too long."""
    words = [name[a:b] for a, b in tokenize(name)]
    parts = [k for k in map(word_keys, words) if k.folded_length]
    return _joined(parts, len(words))


def beginning_key(name: str) -> int:
    """The key of the first `SHORT_SPAN` tokens of a name, all with their endings."""
    key = 0
    for a, b in tokenize(name)[:SHORT_SPAN]:
        part = word_keys(name[a:b])
        key = (key * POWERS[part.folded_length] + part.folded) & (MODULUS - 1)
    return key


def _joined(parts: list[WordKeys], tokens: int) -> NameKey | None:
    if not parts or sum(p.folded_length for p in parts) > MAX_KEY_LENGTH:
        return None
    word = symbol = length = 0
    for p in parts[:-1]:
        word = (word * POWERS[p.folded_length] + p.folded) & (MODULUS - 1)
        symbol = (symbol * POWERS[p.exact_length] + p.exact) & (MODULUS - 1)
        length += p.folded_length
    last = parts[-1]
    word = (word * POWERS[last.singular_length] + last.singular) & (MODULUS - 1)
    symbol = (symbol * POWERS[last.exact_length] + last.exact) & (MODULUS - 1)
    return NameKey(word, symbol, length + last.singular_length, tokens)


def is_symbol(name: str) -> bool:
    """Whether case matters: "TNF", "p53" and "Abl" are symbols, "insulin" and "Iris" are words.

    Words in capitals only, of five letters or more without a digit, are words: some terminologies write
    everything in capitals."""
    if _LOWER_RUN.search(name) or len(name) > 20:
        return False
    letters = [c for c in name if c.isalpha()]
    if not letters or not any(c.isupper() or c.isdigit() for c in name):
        return False
    return any(c.isdigit() for c in name) or any(c.isupper() for c in name[1:]) or len(letters) <= 3


def unique_keys(names: Iterable[str]) -> set[int]:
    return {key.word for name in names if (key := name_key(name))}
