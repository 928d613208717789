"""The shape of a word: capitals, digits, length, which vectors of lower-cased words do not hold."""

from __future__ import annotations

LONG = 8  # characters
SHAPE_FEATURES = 9


def word_shape(word: str) -> tuple[bool, ...]:
    """``SHAPE_FEATURES`` binary features."""
    return (
        word[:1].isupper(),
        len(word) > 1 and word.isupper(),
        word.islower(),
        any(c.isdigit() for c in word),
        word.isdigit(),
        not any(c.isalnum() for c in word),
        len(word) == 1,
        len(word) > LONG,
        any(c.isupper() for c in word[1:]),
    )
