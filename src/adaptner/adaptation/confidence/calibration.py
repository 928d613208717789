"""Calibrates scores and estimates of F1 with constants that were fitted on corpora with test sets.

A model trained on few sentences is overconfident, and cross-validation of the decoder underestimates F1,
because it trains on fewer sentences and does not fine-tune the encoder. ``evaluation/calibration/fit.py``
measures both. A base may have its own constants in ``trust.json``, for labels of its sources in
``trust-known.json`` (there, five sentences show less than the base knows), for labels of its terminologies
in ``trust-terms.json``, and for these without a labelled sentence in ``trust-dictionary.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from adaptner.errors import ModelUnreadable
from adaptner.files import atomic_file
from adaptner.metrics.spans import Score
from adaptner.models.mentions import HeldOutPredictions
from adaptner.nn.decoders.calibration import Calibration

CONSTANTS_FILE, DICTIONARY_FILE = "trust.json", "trust-dictionary.json"
# What the decoder of all labels starts from: their names, decoders of sources, or terminologies.
StartOfLabels = Literal["names", "sources", "terms"]
FILES: dict[StartOfLabels, str] = {
    "names": CONSTANTS_FILE,
    "sources": "trust-known.json",
    "terms": "trust-terms.json",
}
_HALF_WAY = 10  # mentions at which cross-validation and the prior have the same weight
_OF_TERMS = math.log(3)  # log-odds that a mention which terminologies find is right: 0.75
_SHIFT_SD = 1.0  # standard deviation of the prior of a draw's shift


class CalibrationConstants(BaseModel):
    """The constants. n is the number of annotated mentions, x the log-odds of a predicted mention, δ the
    shift that calibrates the held-out predictions, f the F1 of these. The defaults, fitted for the
    shipped base, are used for bases without constants."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # log-odds of being right = (1, x, log(1 + n), δ) · scores
    scores: tuple[float, float, float, float] = (-0.87, 0.41, 0.0, 0.11)
    # log-odds of F1 = (1, w · log-odds of f, w) · f1 with w = n / (n + 10)
    f1: tuple[float, float, float] = (-1.09, 0.49, 1.31)
    # scale of its residual: exp((1, log(1 + n)) · spread)
    spread: tuple[float, float] = (-0.76, -0.15)
    reach: float = 2.7  # scales to either side that contain F1 in 90% of draws

    def calibration(
        self, mentions: int, held_out: Sequence[HeldOutPredictions] = ()
    ) -> Calibration:
        a, b, c, d = self.scores
        shift = c * math.log1p(mentions) + d * log_odds_shift(held_out)
        return Calibration(slope=round(b, 6), intercept=round(a + shift, 6))

    def interval(self, score: Score, mentions: int) -> tuple[float, float, float]:
        """The expected F1 and the bounds of its 90% interval."""
        middle = sum(c * v for c, v in zip(self.f1, f1_features(score, mentions), strict=True))
        half = self.reach * math.exp(self.spread[0] + self.spread[1] * math.log1p(mentions))
        low, expected, high = (sigmoid(middle + by) for by in (-half, 0, half))
        if mentions >= _HALF_WAY:  # the interval includes the F1 of cross-validation
            low, high = min(low, score.f1), max(high, score.f1)
        return expected, low, high

    def save(self, base: Path, start: StartOfLabels = "names") -> None:
        with atomic_file(base / FILES[start]) as file:
            json.dump(self.model_dump(mode="json"), file, indent=1)

    @classmethod
    def of(cls, base: Path | None, start: StartOfLabels = "names") -> CalibrationConstants:
        """The constants of a base's folder, or the defaults."""
        return cls._read(base, (FILES[start], CONSTANTS_FILE)) or cls()

    @classmethod
    def of_terms(cls, base: Path | None) -> CalibrationConstants:
        """The constants of a base's folder for mentions that its terminologies find by themselves.
        The default gives all of them the same score."""
        return cls._read(base, (DICTIONARY_FILE,)) or cls(scores=(_OF_TERMS, 0.0, 0.0, 0.0))

    @classmethod
    def _read(cls, base: Path | None, names: Sequence[str]) -> CalibrationConstants | None:
        """The constants in the first of these files that the base has."""
        paths = [] if base is None else [base / name for name in names]
        path = next((p for p in paths if p.is_file()), None)
        if path is None:
            return None
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (ValidationError, OSError, ValueError) as error:
            reason = f"damaged {path.name} ({str(error).splitlines()[0]})"
            raise ModelUnreadable(
                file=base, kind="base", reason=reason, command="adaptner calibrate --store"
            ) from error


def log_odds_shift(held_out: Sequence[HeldOutPredictions]) -> float:
    """δ, the shift of the log-odds that makes the probabilities of held-out mentions add up to the number
    that are right, with a normal prior around 0: Σ (σ(x + δ) - right) + δ / _SHIFT_SD² = 0."""
    found = [(m.log_odds, own.right(m)) for own in held_out for m in own.found]
    shift = 0.0
    for _ in range(20):  # Newton's method
        chances = [(sigmoid(x + shift), right) for x, right in found]
        slope = sum(p - right for p, right in chances) + shift / _SHIFT_SD**2
        shift -= slope / (sum(p * (1 - p) for p, _ in chances) + 1 / _SHIFT_SD**2)
    return shift


def f1_features(score: Score, mentions: int) -> tuple[float, float, float]:
    """The features of the log-odds of F1. The counts are smoothed, so that these are finite."""
    right, every = 2 * score.true_positives, score.predicted + score.gold
    weight = mentions / (mentions + _HALF_WAY)
    return 1.0, weight * math.log((right + 1) / (every - right + 2)), weight


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0
