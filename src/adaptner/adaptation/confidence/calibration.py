"""How far scores and estimates are to be trusted: constants learnt on draws from source corpora.

A model is too sure of what it has learnt from few sentences, and cross-validation of φ over a frozen
θ knows neither what the last fifth of the sentences nor what tuning θ adds. Both were measured on
corpora with test sets (``evaluation/calibration/fit.py``); here stand the formulas and their constants.
A base may bring constants of its own in ``trust.json`` and, for what its sources have taught, in
``trust-known.json``: there five sentences show less than it knows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from adaptner.errors import ModelUnreadable
from adaptner.files import atomic_file
from adaptner.metrics.spans import Score
from adaptner.models.mentions import HeldOutPredictions
from adaptner.nn.decoders.calibration import Calibration

TRUST, OF_KNOWN = "trust.json", "trust-known.json"
_HALF_WAY = 10  # mentions, from which on they say more of F1 than experience does
_PULL = 1.0  # the shift of a draw's own log-odds is drawn from a normal distribution this wide


class CalibrationConstants(BaseModel):
    """n is the number of mentions learnt from, x what a model says of a mention (log-odds), δ the
    shift that the mentions found in left-out sentences ask for, f the F1 there. The defaults are for
    bases that bring none: those of the shipped base of November 2026."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # log-odds of being right = (1, x, log(1 + n), δ) · scores
    scores: tuple[float, float, float, float] = (-0.87, 0.41, 0.0, 0.11)
    # log-odds of F1 = (1, w · log-odds of f, w) · f1 with w = n / (n + 10)
    f1: tuple[float, float, float] = (-1.09, 0.49, 1.31)
    spread: tuple[float, float] = (-0.76, -0.15)  # of its residual: exp((1, log(1 + n)) · spread)
    reach: float = 2.7  # so many spreads to either side hold F1 in nine of ten draws

    def calibration(
        self, mentions: int, left_out: Sequence[HeldOutPredictions] = ()
    ) -> Calibration:
        a, b, c, d = self.scores
        shift = c * math.log1p(mentions) + d * log_odds_shift(left_out)
        return Calibration(slope=round(b, 6), intercept=round(a + shift, 6))

    def interval(self, score: Score, mentions: int) -> tuple[float, float, float]:
        """F1 to expect, and the bounds that hold it in nine of ten draws."""
        middle = sum(c * v for c, v in zip(self.f1, f1_features(score, mentions), strict=True))
        half = self.reach * math.exp(self.spread[0] + self.spread[1] * math.log1p(mentions))
        low, expected, high = (sigmoid(middle + by) for by in (-half, 0, half))
        if mentions >= _HALF_WAY:  # then cross-validation itself is not to be ruled out
            low, high = min(low, score.f1), max(high, score.f1)
        return expected, low, high

    def save(self, base: Path, *, known: bool = False) -> None:
        with atomic_file(base / (OF_KNOWN if known else TRUST)) as file:
            json.dump(self.model_dump(mode="json"), file, indent=1)

    @classmethod
    def of(cls, base: Path | None, *, known: bool = False) -> CalibrationConstants:
        """The constants in a base's folder, or ours; ``known``: of what its sources have taught."""
        names = (OF_KNOWN, TRUST) if known else (TRUST,)
        paths = [] if base is None else [base / name for name in names]
        path = next((p for p in paths if p.is_file()), None)
        if path is None:
            return cls()
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (ValidationError, OSError, ValueError) as error:
            reason = f"damaged {path.name} ({str(error).splitlines()[0]})"
            raise ModelUnreadable(
                file=base, kind="base", reason=reason, command="adaptner calibrate --store"
            ) from error


def log_odds_shift(left_out: Sequence[HeldOutPredictions]) -> float:
    """δ: what must be added to the log-odds of left-out mentions so that as many are right as they
    promise, pulled towards 0: Σ (σ(x + δ) - right) + δ / _PULL² = 0."""
    found = [(m.log_odds, own.right(m)) for own in left_out for m in own.found]
    shift = 0.0
    for _ in range(20):  # Newton's method
        chances = [(sigmoid(x + shift), right) for x, right in found]
        slope = sum(p - right for p, right in chances) + shift / _PULL**2
        shift -= slope / (sum(p * (1 - p) for p, _ in chances) + 1 / _PULL**2)
    return shift


def f1_features(score: Score, mentions: int) -> tuple[float, float, float]:
    """What the log-odds of F1 are made of. A little is added to the counts: they stay finite."""
    right, every = 2 * score.true_positives, score.predicted + score.gold
    weight = mentions / (mentions + _HALF_WAY)
    return 1.0, weight * math.log((right + 1) / (every - right + 2)), weight


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0
