"""Fits the constants that calibrate scores and estimates of F1, on draws from annotated corpora.

Each draw is adapted to and estimated as by ``adaptner adapt``, then measured on a test set. Only counts
are kept, so that rows can be published.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from adaptner.adaptation.confidence.calibration import (
    CalibrationConstants,
    f1_features,
    log_odds_shift,
)
from adaptner.corpora.corpus import Corpus
from adaptner.errors import UsageError
from adaptner.methods.base import Method
from adaptner.metrics.spans import Score
from adaptner.models.base import Base
from adaptner.models.mentions import HeldOutPredictions, PredictedMention
from adaptner.types import Sentence

STEP = 0.1  # width of the bins in which log-odds of test mentions are counted
_PENALTY, _PENALTY_OF_DRAWS = 0.3, 5.0  # of the ridge regressions
# The interval should cover 90% of the draws of a new domain. It covers more of the few known domains.
_COVERAGE = 0.95
_MARGIN = 0.005  # keeps F1 away from 0 and 1, where its log-odds are infinite


class Observation(BaseModel):
    """Counts of one draw.

    ``left_out`` holds for each held-out sentence the number of its mentions and, for each mention
    found there, its log-odds and whether it is correct. ``bins`` holds, by log-odds / ``STEP``, how
    many test mentions were found and how many of them are correct. Seconds are processor time."""

    corpus: str
    domain: str
    size: int
    seed: int
    mentions: int
    left_out: list[tuple[int, list[tuple[float, bool]]]]
    test: tuple[int, int, int]  # correct, found and annotated mentions
    bins: dict[int, tuple[int, int]]
    fit_seconds: float
    estimate_seconds: float

    @property
    def cross_validated(self) -> Score:
        correct = [is_correct for _, found in self.left_out for _, is_correct in found]
        return Score(sum(correct), len(correct), sum(gold for gold, _ in self.left_out))

    @property
    def f1(self) -> float:
        return Score(*self.test).f1

    def as_left_out(self) -> list[HeldOutPredictions]:
        """Predictions with the same log-odds and correctness, at made-up positions."""
        return [
            HeldOutPredictions(
                frozenset((i, i + 1, "") for i, (_, is_correct) in enumerate(found) if is_correct),
                tuple(PredictedMention(i, i + 1, "", odds) for i, (odds, _) in enumerate(found)),
            )
            for _, found in self.left_out
        ]


def observe(
    method: Method,
    base: Base,
    target: Corpus,
    support: Sequence[Sentence],
    test: Sequence[Sentence],
    seed: int,
) -> Observation:
    """Adapt ``base`` to ``support``, estimate F1 from it and measure F1 on ``test``."""
    start = time.process_time()
    tagger = method.adapt(base, support, labels=target.labels, seed=seed)
    fit_end = time.process_time()
    held_out = method.held_out(base, support, labels=target.labels, seed=seed)
    estimate_end = time.process_time()
    if held_out is None:
        raise UsageError(
            problem=f"{method.name} cannot estimate F1, so there is nothing to calibrate",
            remedy="give a base of the method named",
        )
    found, right, gold = Counter[int](), Counter[int](), 0
    for sentence, mentions in zip(test, tagger.mentions(test), strict=True):
        annotated = token_spans(sentence)
        gold += len(annotated)
        for mention in mentions:
            index = round(mention.log_odds / STEP)
            found[index] += 1
            right[index] += mention[:3] in annotated
    return Observation(
        corpus=target.name,
        domain=target.domain,
        size=len(support),
        seed=seed,
        mentions=sum(len(s.entities) for s in support),
        left_out=[
            (
                len(of_sentence.gold),
                [(round(m.log_odds, 2), of_sentence.right(m)) for m in of_sentence.found],
            )
            for of_sentence in held_out
        ],
        test=(right.total(), found.total(), gold),
        bins={index: (found[index], right[index]) for index in sorted(found)},
        fit_seconds=round(fit_end - start, 3),
        estimate_seconds=round(estimate_end - fit_end, 3),
    )


def token_spans(sentence: Sentence) -> set[tuple[int, int, str]]:
    """First token, end token and label of each entity."""
    first = {a: i for i, (a, _) in enumerate(sentence.token_spans)}
    end = {b: i + 1 for i, (_, b) in enumerate(sentence.token_spans)}
    return {(first[e.start], end[e.end], e.label) for e in sentence.entities}


def fit_calibration(rows: Sequence[Observation]) -> CalibrationConstants:
    """The constants that fit ``rows``, which come from several domains. Draws without a mention are
    ignored."""
    rows = [row for row in rows if row.mentions]
    domains = sorted({row.domain for row in rows})
    # Errors on a domain that had no part in the fit, as a user's domain has none
    residuals: list[tuple[Observation, float]] = []
    for domain in domains:
        weights = _fit_f1([row for row in rows if row.domain != domain])
        residuals += [(row, _residual(row, weights)) for row in rows if row.domain == domain]
    inputs = np.array([[1, math.log1p(row.mentions)] for row, _ in residuals])
    errors = np.abs([residual for _, residual in residuals])
    scale = np.linalg.lstsq(inputs, np.log(errors + 0.05), rcond=None)[0]
    if scale[1] > 0:  # more mentions must not make the estimate less certain
        scale = np.array([np.log(errors + 0.05).mean(), 0.0])
    multiplier = float(np.quantile(errors / np.exp(inputs @ scale), _COVERAGE))
    return CalibrationConstants(
        scores=_rounded(_fit_scores(rows)),
        f1=_rounded(_fit_f1(rows)),
        spread=_rounded(scale),
        reach=round(multiplier, 4),
    )


def _fit_f1(rows: Sequence[Observation]) -> np.ndarray:
    """Ridge regression of the log-odds of F1, with a penalty on deviating from cross-validation."""
    inputs = np.array([f1_features(row.cross_validated, row.mentions) for row in rows])
    targets = np.array([_log_odds(row.f1) for row in rows])
    start = np.array([0.0, 1.0, 0.0])
    penalty = np.diag([1e-6, _PENALTY, _PENALTY])
    change = np.linalg.solve(inputs.T @ inputs + penalty, inputs.T @ (targets - inputs @ start))
    return np.asarray(start + change)


def _residual(row: Observation, weights: np.ndarray) -> float:
    return _log_odds(row.f1) - float(weights @ f1_features(row.cross_validated, row.mentions))


def _fit_scores(rows: Sequence[Observation]) -> np.ndarray:
    """Logistic regression by Newton's method. Each draw has the same weight, however many mentions
    were found."""
    features, correct, weights = [], [], []
    for row in rows:
        of_draw = (math.log1p(row.mentions), log_odds_shift(row.as_left_out()))
        total = sum(found for found, _ in row.bins.values())
        for index, (found, right) in row.bins.items():
            for count, label in ((right, 1.0), (found - right, 0.0)):
                features.append((1.0, STEP * index, *of_draw))
                correct.append(label)
                weights.append(count / total)
    x, y, w = np.array(features), np.array(correct), np.array(weights)
    solution = np.zeros(4)
    # Features of a draw vary only between draws, and there are few domains: a stronger penalty
    penalty = np.diag([1e-6, 0.01, _PENALTY_OF_DRAWS, _PENALTY_OF_DRAWS])
    for _ in range(30):
        p = 1 / (1 + np.exp(-(x @ solution)))
        gradient = x.T @ (w * (p - y)) + penalty @ solution
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + penalty
        solution = solution - np.linalg.solve(hessian, gradient)
    return solution


def _log_odds(f1: float) -> float:
    return math.log((f1 + _MARGIN) / (1 - f1 + _MARGIN))


def _rounded(values: np.ndarray) -> tuple:  # type: ignore[type-arg]
    return tuple(round(float(v), 4) for v in values)
