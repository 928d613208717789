"""Few-shot draws, which depend only on their seed and are the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Sequence

from adaptner.errors import TooFewSentences
from adaptner.types import Sentence


def draw_sentences(sentences: Sequence[Sentence], size: int, seed: int) -> list[Sentence]:
    """Draws ``size`` sentences uniformly without replacement; raises TooFewSentences."""
    if size > len(sentences):
        raise TooFewSentences(
            found=len(sentences), what="the train split", needed=size, option="--sizes"
        )
    return [sentences[i] for i in random.Random(seed).sample(range(len(sentences)), size)]


def draw_share(sentences: Sequence[Sentence], percent: float, seed: int) -> list[Sentence]:
    """Draws ``percent`` of the sentences, at least one; 100 shuffles all of them."""
    return draw_sentences(sentences, max(1, round(len(sentences) * percent / 100)), seed)
