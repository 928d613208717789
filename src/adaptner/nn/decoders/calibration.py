"""From what a model thinks of its own mention to how often it is right."""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict

_LEAST = -14.0  # the logarithm of a millionth


class Calibration(BaseModel):
    """p = σ(intercept + slope · log-odds) (Platt 1999). As it is made, it changes nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slope: float = 1.0
    intercept: float = 0.0

    def __call__(self, log_odds: float) -> float:
        return 1 / (1 + math.exp(-(self.intercept + self.slope * log_odds)))


def log_odds(log_probability: float) -> float:
    """log p / (1 - p), for p a millionth away from 0 and from 1 at least."""
    kept = min(max(log_probability, _LEAST), -math.exp(_LEAST))
    return kept - math.log(-math.expm1(kept))
