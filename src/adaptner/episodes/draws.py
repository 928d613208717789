"""Few-shot draws, which depend only on their seed and are the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, get_args

from adaptner.errors import TooFewSentences, UnknownName, UsageError
from adaptner.types import Sentence

# The sentences that a draw may hold: all of the train split, or only those with a mention.
DrawsFrom = Literal["all", "with-entities"]
DRAWS_FROM: tuple[DrawsFrom, ...] = get_args(DrawsFrom)
_SIZES_WITH_ENTITIES = range(1, 100)


def draw_sentences(
    sentences: Sequence[Sentence], size: int, seed: int, draws_from: DrawsFrom = "all"
) -> list[Sentence]:
    """Draws ``size`` sentences uniformly without replacement; raises TooFewSentences."""
    candidates = drawable(sentences, draws_from)
    if size > len(candidates):
        raise TooFewSentences(
            found=len(candidates), what=drawable_name(draws_from), needed=size, option="--sizes"
        )
    return [candidates[i] for i in random.Random(seed).sample(range(len(candidates)), size)]


def drawable(sentences: Sequence[Sentence], draws_from: DrawsFrom) -> Sequence[Sentence]:
    """Returns the sentences that a draw may hold."""
    return sentences if draws_from == "all" else [s for s in sentences if s.entities]


def drawable_name(draws_from: DrawsFrom) -> str:
    """What error messages call these sentences."""
    return "the train split" + (
        "" if draws_from == "all" else " (counting only sentences with an entity)"
    )


def draw_share(sentences: Sequence[Sentence], percent: float, seed: int) -> list[Sentence]:
    """Draws ``percent`` of the sentences, at least one; 100 shuffles all of them."""
    return draw_sentences(sentences, max(1, round(len(sentences) * percent / 100)), seed)


def check_draws(draws_from: str, sizes: Sequence[int], shares: Sequence[float] = ()) -> DrawsFrom:
    """Returns the kind of draw. Raises UnknownName for another kind, and UsageError for amounts that
    are only drawn from all sentences: no sentence, 100 and more, and shares."""
    kind = next((known for known in DRAWS_FROM if known == draws_from), None)
    if kind is None:
        raise UnknownName.among(DRAWS_FROM, kind="kind of draw", name=draws_from)
    refused = [str(size) for size in sizes if size not in _SIZES_WITH_ENTITIES]
    refused += [f"{share:g}%" for share in shares]
    if kind != "all" and refused:
        raise UsageError(
            problem=f"--draws-from {kind}: {', '.join(refused)} can only be drawn from all sentences",
            remedy=f"ask for {_SIZES_WITH_ENTITIES[0]} to {_SIZES_WITH_ENTITIES[-1]} sentences "
            "(--sizes), or leave out --draws-from",
        )
    return kind
