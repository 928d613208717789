"""D_aug: sentences in which a mention is replaced by one of the other domain (PDALN, section 4.1.1)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from adaptner.episodes.mention_replacement import (
    mentions_by_label,
    possible_replacements,
    replace_some_mentions,
)
from adaptner.methods.pdaln.config import PDALNTuneConfig
from adaptner.types import Sentence


def mixed_domain_data(
    source: Sequence[Sentence],
    target: Sequence[Sentence],
    rng: random.Random,
    config: PDALNTuneConfig = PDALNTuneConfig(),
) -> list[Sentence]:
    """D_aug: copies of every target sentence and of some source sentences that have an anchor.

    With the settings of section 5.3, 100 target sentences give 100 · 4 + 500 · 2 = 1,400."""
    target_mentions = mentions_by_label(target)
    with_anchor = [s for s in source if any(possible_replacements(s, target_mentions))]
    drawn = rng.sample(with_anchor, min(config.source_ratio * len(target), len(with_anchor)))
    mixed = replace_some_mentions(target, mentions_by_label(drawn), config.target_copies, rng)
    return mixed + replace_some_mentions(drawn, target_mentions, config.source_copies, rng)
