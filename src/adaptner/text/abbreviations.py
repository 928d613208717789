"""Finds where a sentence defines an abbreviation: "diabetes mellitus (DM)", "DM (diabetes mellitus)".

The algorithm of Schwartz and Hearst (2003, "A simple algorithm for identifying abbreviation definitions in
biomedical text"), on tokens: the letters and digits of the short form must occur in this order in the long
form, the first of them at the beginning of a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adaptner.types import Span

_CLOSING = {"(": ")", "[": "]"}
_BRACKETS = frozenset("()[]")
_JOINS_WORDS = frozenset("-‐‑–/'’+&")  # "NF - kappa B" has two words
_MOST_WORDS = 2  # of a short form
_LEAST_CHARACTERS = 2
_MOST_CHARACTERS = 10


@dataclass(frozen=True, slots=True)
class Definition:
    """The spans of a short form and of its long form, in tokens."""

    short: Span
    long: Span


def find_definitions(tokens: Sequence[str]) -> list[Definition]:
    """Returns the definitions in a sentence, in order of their brackets.

    >>> find_definitions("He has diabetes mellitus ( DM ) .".split())
    [Definition(short=(5, 6), long=(2, 4))]
    """
    if "(" not in tokens and "[" not in tokens:
        return []
    found = []
    for opening, closing in _brackets(tokens):
        inside = (opening + 1, _end_of_first_part(tokens, opening + 1, closing))
        definition = _defined_inside(tokens, inside) or _defined_before(tokens, inside)
        if definition:
            found.append(definition)
    return found


def _brackets(tokens: Sequence[str]) -> list[Span]:
    """Returns the positions of each opening bracket and of the one that closes it."""
    found, open_at = [], list[int]()
    for i, token in enumerate(tokens):
        if token in _CLOSING:
            open_at.append(i)
        elif open_at and token == _CLOSING[tokens[open_at[-1]]]:
            found.append((open_at.pop(), i))
    return sorted(found)


def _end_of_first_part(tokens: Sequence[str], start: int, end: int) -> int:
    """Returns the end of "DM" in "DM, type 2" and "DM; see below", but not of "4" in "4,5-BP"."""
    for i in range(start, end):
        if tokens[i] == ";" or (
            tokens[i] == "," and not (tokens[i - 1][-1:].isdigit() and tokens[i + 1][:1].isdigit())
        ):
            return i
    return end


def _defined_inside(tokens: Sequence[str], inside: Span) -> Definition | None:
    """Returns the definition if the brackets contain the short form of the words before them."""
    end = inside[0] - 1
    while end and not _characters(tokens[end - 1]) and tokens[end - 1] not in _BRACKETS:
        end -= 1
    start = _long_form_start(tokens, inside, (0, end))
    return None if start is None else Definition(inside, (start, end))


def _defined_before(tokens: Sequence[str], inside: Span) -> Definition | None:
    """Returns the definition if the brackets contain the long form of what stands before them."""
    before = inside[0] - 1
    for short_start in _word_starts(tokens, before):
        short = (short_start, before)
        start = _long_form_start(tokens, short, inside)
        if start is not None:
            return Definition(short, (start, inside[1]))
    return None


def _word_starts(tokens: Sequence[str], end: int) -> Iterator[int]:
    """Yields the beginnings of the last word and of the last two words before ``end``."""
    for _ in range(_MOST_WORDS):
        end -= 1
        if end < 0 or not _characters(tokens[end]):
            return
        while end >= 2 and tokens[end - 1] in _JOINS_WORDS and _characters(tokens[end - 2]):
            end -= 2
        yield end


def _long_form_start(tokens: Sequence[str], short: Span, within: Span) -> int | None:
    """Returns where the long form of ``short`` begins that ends where ``within`` ends."""
    characters = _characters("".join(tokens[slice(*short)]))
    if not _is_short_form(tokens, short, characters):
        return None
    start = _start_by_initials(tokens, characters, within)
    if start is None:
        start = _start_by_characters(tokens, characters, within)
    if start is None or not _is_long_form(tokens, (start, within[1]), short, len(characters)):
        return None
    return start


def _start_by_initials(tokens: Sequence[str], characters: str, within: Span) -> int | None:
    """Returns where as many words begin as there are characters, if these are their initials.

    This is not in the paper, whose algorithm finds "myeloma" in "multiple myeloma (MM)".
    """
    i = within[1]
    for character in reversed(characters):
        i -= 1
        while i >= within[0] and not _characters(tokens[i]):
            if tokens[i] in _BRACKETS:
                return None
            i -= 1
        if i < within[0] or tokens[i][0].lower() != character:
            return None
    return i


def _start_by_characters(tokens: Sequence[str], characters: str, within: Span) -> int | None:
    """Returns where the shortest span begins that has the characters in their order."""
    wanted = len(characters) - 1  # the characters after it are found
    unopened = 0  # closing brackets whose opening ones are further to the left
    words_left = min(len(characters) + 5, 2 * len(characters))
    for i in range(within[1] - 1, within[0] - 1, -1):
        token = tokens[i].lower()
        if not _characters(token):
            unopened += (token in _CLOSING.values()) - (token in _CLOSING)
            if unopened < 0:
                return None
            continue
        words_left -= 1
        if words_left < 0:
            return None
        end = len(token)
        while wanted and (at := token.rfind(characters[wanted], 0, end)) >= 0:
            wanted, end = wanted - 1, at
        if not wanted and not unopened and _begins_word(token[:end], characters[0]):
            return i
    return None


def _begins_word(text: str, character: str) -> bool:
    return any(c == character and not (i and text[i - 1].isalnum()) for i, c in enumerate(text))


def _is_short_form(tokens: Sequence[str], short: Span, characters: str) -> bool:
    start, end = short
    if not _LEAST_CHARACTERS <= len(characters) <= _MOST_CHARACTERS:
        return False
    words = sum(
        bool(_characters(tokens[i])) and not (i > start and tokens[i - 1] in _JOINS_WORDS)
        for i in range(start, end)
    )
    return (
        words <= _MOST_WORDS
        and tokens[start][:1].isalnum()
        and any(c.isalpha() for c in characters)
    )


def _is_long_form(tokens: Sequence[str], long: Span, short: Span, characters: int) -> bool:
    """Whether the long form is longer than the short form and does not contain it."""
    words, short_words = list(tokens[slice(*long)]), list(tokens[slice(*short)])
    size = len(short_words)
    repeated = any(words[i : i + size] == short_words for i in range(len(words) - size + 1))
    return not repeated and len(_characters("".join(words))) > characters


def _characters(text: str) -> str:
    """Returns the letters and digits in lower case."""
    text = text.lower()
    return text if text.isalnum() else "".join(c for c in text if c.isalnum())
