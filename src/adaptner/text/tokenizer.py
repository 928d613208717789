"""Tokens as the biomedical corpora have them: runs of letters and digits, other marks alone."""

from __future__ import annotations

import re
import unicodedata

from adaptner.types import Span


def _combining_marks() -> str:
    """All combining marks as a regular-expression class body.

    Python's ``\\w`` leaves them out, so a decomposed é or a Devanagari vowel sign would part a
    word. They stand in these two stretches of Unicode; scanning only them keeps the import fast.
    """
    stretches = (range(0x300, 0x1F000), range(0xE0100, 0xE01F0))
    return "".join(
        chr(code)
        for stretch in stretches
        for code in stretch
        if unicodedata.category(chr(code))[0] == "M"
    )


_MARKS = _combining_marks()
_MARK_SET = frozenset(_MARKS)  # a hundred times faster to ask than the class of 2,400 characters
_TOKEN = re.compile(r"[^\W_]+|\S")
# Three times slower, hence only for texts with marks.
_TOKEN_WITH_MARKS = re.compile(rf"[^\W_]++(?:[{_MARKS}]++[^\W_]*+)*+|\S")


def tokenize(text: str) -> list[Span]:
    """The spans of the tokens of ``text``, in order; every non-space character is in one.

    >>> [("IL-2 (10 µg)")[a:b] for a, b in tokenize("IL-2 (10 µg)")]
    ['IL', '-', '2', '(', '10', 'µg', ')']
    """
    plain = text.isascii() or _MARK_SET.isdisjoint(text)
    pattern = _TOKEN if plain else _TOKEN_WITH_MARKS
    return [match.span() for match in pattern.finditer(text)]
