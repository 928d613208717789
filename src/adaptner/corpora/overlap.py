"""Sentences that stand in two corpora: training must not hold what the test asks for."""

from __future__ import annotations

from collections.abc import Iterable

from adaptner.types import Sentence

# Shorter ones ("The results are shown in Table 1 .") recur without being taken from one another.
MIN_CHARACTERS = 40


def fingerprint(sentence: Sentence) -> str | None:
    """What two copies of a sentence share whatever their case and spacing; None if too short."""
    bare = "".join(sentence.text.lower().split())
    return bare if len(bare) >= MIN_CHARACTERS else None


def remove_overlap(
    sentences: Iterable[Sentence], held_out: Iterable[Sentence]
) -> tuple[list[Sentence], int]:
    """``sentences`` without those that also stand in ``held_out``, and how many were removed."""
    forbidden = {fingerprint(s) for s in held_out} - {None}
    kept, removed = [], 0
    for sentence in sentences:
        if fingerprint(sentence) in forbidden:
            removed += 1
        else:
            kept.append(sentence)
    return kept, removed
