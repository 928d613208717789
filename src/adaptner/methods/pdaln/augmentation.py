"""D_aug: mixed sentences, in which a mention of the other domain takes a mention's place (4.1.1, 5.3)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from adaptner.episodes.mention_replacement import (
    mentions_by_label,
    possible_replacements,
    replace_some_mentions,
)
from adaptner.types import Sentence


def mixed_domain_data(
    source: Sequence[Sentence],
    target: Sequence[Sentence],
    rng: random.Random,
    *,
    ratio: int = 5,
    each_target: int = 4,
    each_source: int = 2,
) -> list[Sentence]:
    """D_aug (PDALN 5.3): of ``ratio`` source sentences for every target sentence, drawn from those
    that have an anchor, ``each_source`` copies each, and ``each_target`` of every target sentence:
    100 · 4 + 500 · 2 = 1,400."""
    ours = mentions_by_label(target)
    able = [s for s in source if any(possible_replacements(s, ours))]
    drawn = rng.sample(able, min(ratio * len(target), len(able)))
    mixed = replace_some_mentions(target, mentions_by_label(drawn), each_target, rng)
    return mixed + replace_some_mentions(drawn, ours, each_source, rng)
