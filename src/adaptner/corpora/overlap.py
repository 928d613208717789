"""Finds test sentences in training data, and removes them."""

from __future__ import annotations

from collections.abc import Iterable

from adaptner.types import Sentence

# Shorter sentences ("The results are shown in Table 1 .") recur independently.
MIN_CHARACTERS = 40


def fingerprint(sentence: str) -> str | None:
    """Returns the text in lower case without white space, or None if it is too short."""
    text = "".join(sentence.lower().split())
    return text if len(text) >= MIN_CHARACTERS else None


def fingerprints(sentences: Iterable[Sentence]) -> set[str]:
    """Returns the fingerprints of all sentences that are long enough."""
    return {text for s in sentences if (text := fingerprint(s.text)) is not None}


def remove_overlap(
    sentences: Iterable[Sentence], held_out: Iterable[Sentence]
) -> tuple[list[Sentence], int]:
    """Returns ``sentences`` without those in ``held_out``, and the number removed."""
    forbidden = fingerprints(held_out)
    kept, removed = [], 0
    for sentence in sentences:
        if fingerprint(sentence.text) in forbidden:
            removed += 1
        else:
            kept.append(sentence)
    return kept, removed
