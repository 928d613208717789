"""Calibration of a tagger's scores: from its log odds to the frequency with which it is right."""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict

_MIN_LOG_PROBABILITY = -14.0  # about a millionth


class Calibration(BaseModel):
    """p = σ(intercept + slope · log odds) (Platt 1999); the defaults change nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slope: float = 1.0
    intercept: float = 0.0

    def __call__(self, log_odds: float) -> float:
        return 1 / (1 + math.exp(-(self.intercept + self.slope * log_odds)))


def log_odds(log_probability: float) -> float:
    """log p / (1 - p), with p limited to about a millionth from 0 and from 1."""
    limited = min(max(log_probability, _MIN_LOG_PROBABILITY), -math.exp(_MIN_LOG_PROBABILITY))
    return limited - math.log(-math.expm1(limited))
