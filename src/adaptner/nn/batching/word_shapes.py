"""What a word looks like: capitals, digits, length. Word vectors of lower-cased text do not say."""

from __future__ import annotations

LONG = 8  # letters
SHAPE_FEATURES = 9


def word_shape(word: str) -> tuple[bool, ...]:
    """``SHAPE_FEATURES`` yes-or-no answers."""
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
