"""From a path of tags to mentions, each with the odds that it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adaptner.nn.decoders.calibration import log_odds
from adaptner.types import LabelSet

# Of each token three logarithms of probabilities (nn/decoders/span_confidence.py): an array (tokens, 3), or lists
PathConfidence = np.ndarray | Sequence[Sequence[float]]


class PredictedMention(NamedTuple):
    """Tokens ``first`` to ``end`` (one past the last); ``log_odds`` as the model sees them."""

    first: int
    end: int
    label: str
    log_odds: float


@dataclass(frozen=True)
class HeldOutPredictions:
    """A sentence's mentions, and those found there by a φ that has not learnt from it."""

    gold: frozenset[tuple[int, int, str]]
    found: tuple[PredictedMention, ...]

    def right(self, mention: PredictedMention) -> bool:
        return mention[:3] in self.gold


def mentions_of(
    tags: Sequence[int], sure: PathConfidence, labels: LabelSet
) -> list[PredictedMention]:
    """The mentions of one sentence; ``sure`` is looked at where there are any.

    Windows may meet inside an entity, so any path is read, as conlleval does (text/schemes)."""
    names = labels.tags
    found: list[PredictedMention] = []
    if not any(tags):  # O is number 0
        return found
    length = len(tags)
    i = 0
    while i < length:
        name = names[tags[i]]
        if name == "O":
            i += 1
            continue
        label = name[2:]
        goes_on = f"I-{label}", f"E-{label}"
        end = i + 1
        while name[0] in "BI" and end < length and names[tags[end]] in goes_on:
            name = names[tags[end]]
            end += 1
        # begins here, goes on, and ends here: both borders count
        chance = sure[i][0] + sum(sure[t][1] for t in range(i, end - 1)) + sure[end - 1][2]
        found.append(PredictedMention(i, end, label, log_odds(float(chance))))
        i = end
    return found
