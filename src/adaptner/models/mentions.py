"""Mentions of a path of tags, each with the log-odds that it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adaptner.nn.decoders.calibration import log_odds
from adaptner.types import LabelSet

# Three log-probabilities for each token (nn/decoders/span_confidence.py): an array (tokens, 3) or lists
PathConfidence = np.ndarray | Sequence[Sequence[float]]


class PredictedMention(NamedTuple):
    """The tokens from ``first`` to before ``end``, with log-odds before calibration."""

    first: int
    end: int
    label: str
    log_odds: float


@dataclass(frozen=True)
class HeldOutPredictions:
    """A sentence's mentions, and those found by a decoder that was not trained on it."""

    gold: frozenset[tuple[int, int, str]]
    found: tuple[PredictedMention, ...]

    def right(self, mention: PredictedMention) -> bool:
        return mention[:3] in self.gold


def mentions_of(
    tags: Sequence[int], confidence: PathConfidence, labels: LabelSet
) -> list[PredictedMention]:
    """The mentions of one sentence; ``confidence`` may be empty if there are none.

    Any path is valid, because windows may meet inside an entity. Invalid tags are read as conlleval
    reads them (text/schemes)."""
    names = labels.tags
    found: list[PredictedMention] = []
    if not any(tags):  # O is number 0
        return found
    i = 0
    while i < len(tags):
        name = names[tags[i]]
        if name == "O":
            i += 1
            continue
        label = name[2:]
        inner = f"I-{label}", f"E-{label}"
        end = i + 1
        while name[0] in "BI" and end < len(tags) and names[tags[end]] in inner:
            name = names[tags[end]]
            end += 1
        # It starts at i, continues and ends before end: both borders must be right.
        chance = confidence[i][0] + sum(confidence[t][1] for t in range(i, end - 1))
        chance += confidence[end - 1][2]
        found.append(PredictedMention(i, end, label, log_odds(float(chance))))
        i = end
    return found
