"""The constants of trust, learnt from draws whose true quality is known.

A draw is observed as a user would meet it, and then what no user has: a test set. All that is kept of
either are counts.
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
from adaptner.methods.base import Method
from adaptner.metrics.spans import Score
from adaptner.models.base import Base
from adaptner.models.mentions import HeldOutPredictions, PredictedMention
from adaptner.types import Sentence

STEP = 0.1  # log-odds of test mentions are counted in bins this wide
_PULL, _PULL_OF_DRAWS = 0.3, 5.0  # of ridge regression
# The interval is to hold nine of ten draws of a new domain; few domains were seen, so it is wider.
_WITHIN = 0.95
_LEAST = 0.005  # F1 is kept this far from 0 and 1, where its log-odds have no end


class Observation(BaseModel):
    """One draw. ``left_out``: of each sentence, how many mentions it has and, of each one found there,
    log-odds and whether it is right. ``bins``: by log-odds / ``STEP``, test mentions found and right.
    Seconds are the processor's."""

    corpus: str
    domain: str
    size: int
    seed: int
    mentions: int
    left_out: list[tuple[int, list[tuple[float, bool]]]]
    test: tuple[int, int, int]  # right, found, all
    bins: dict[int, tuple[int, int]]
    fit_seconds: float
    estimate_seconds: float

    @property
    def cross_validated(self) -> Score:
        found = [right for _, own in self.left_out for _, right in own]
        return Score(sum(found), len(found), sum(gold for gold, _ in self.left_out))

    @property
    def f1(self) -> float:
        return Score(*self.test).f1

    def as_left_out(self) -> list[HeldOutPredictions]:
        """Mentions that differ in nothing but their place and in whether they are right."""
        return [
            HeldOutPredictions(
                frozenset((i, i + 1, "") for i, (_, right) in enumerate(own) if right),
                tuple(PredictedMention(i, i + 1, "", odds) for i, (odds, _) in enumerate(own)),
            )
            for _, own in self.left_out
        ]


def observe(
    method: Method,
    base: Base,
    target: Corpus,
    support: Sequence[Sentence],
    test: Sequence[Sentence],
    seed: int,
) -> Observation:
    begun = time.process_time()
    tagger = method.adapt(base, support, labels=target.labels, seed=seed)
    fitted = time.process_time()
    left_out = method.held_out(base, support, labels=target.labels, seed=seed)
    estimated = time.process_time()
    if left_out is None:
        raise ValueError(f"{method.name} leaves no sentence out")
    found, right, gold = Counter[int](), Counter[int](), 0
    for sentence, mentions in zip(test, tagger.mentions(test), strict=True):
        wanted = token_spans(sentence)
        gold += len(wanted)
        for mention in mentions:
            place = round(mention.log_odds / STEP)
            found[place] += 1
            right[place] += mention[:3] in wanted
    return Observation(
        corpus=target.name,
        domain=target.domain,
        size=len(support),
        seed=seed,
        mentions=sum(len(s.entities) for s in support),
        left_out=[
            (len(own.gold), [(round(m.log_odds, 2), own.right(m)) for m in own.found])
            for own in left_out
        ],
        test=(right.total(), found.total(), gold),
        bins={place: (found[place], right[place]) for place in sorted(found)},
        fit_seconds=round(fitted - begun, 3),
        estimate_seconds=round(estimated - fitted, 3),
    )


def token_spans(sentence: Sentence) -> set[tuple[int, int, str]]:
    first = {a: i for i, (a, _) in enumerate(sentence.token_spans)}
    end = {b: i + 1 for i, (_, b) in enumerate(sentence.token_spans)}
    return {(first[e.start], end[e.end], e.label) for e in sentence.entities}


def fit_calibration(rows: Sequence[Observation]) -> CalibrationConstants:
    """From draws of several domains; those without a mention tell nothing."""
    told = [row for row in rows if row.mentions]
    f1 = _f1_line(told)
    # What a domain that was not looked at is off by: each is left out in turn.
    residuals = []
    for domain in sorted({row.domain for row in told}):
        line = _f1_line([row for row in told if row.domain != domain])
        residuals += [(row, _residual(row, line)) for row in told if row.domain == domain]
    sizes = np.array([[1, math.log1p(row.mentions)] for row, _ in residuals])
    off = np.abs([value for _, value in residuals])
    spread = np.linalg.lstsq(sizes, np.log(off + 0.05), rcond=None)[0]
    if spread[1] > 0:  # more mentions do not make it less certain
        spread = np.array([np.log(off + 0.05).mean(), 0.0])
    reach = float(np.quantile(off / np.exp(sizes @ spread), _WITHIN))
    return CalibrationConstants(
        scores=_rounded(_score_line(told)),
        f1=_rounded(f1),
        spread=_rounded(spread),
        reach=round(reach, 4),
    )


def _f1_line(rows: Sequence[Observation]) -> np.ndarray:
    """Ridge regression of the log-odds of F1; the pull is towards what cross-validation says."""
    inputs = np.array([f1_features(row.cross_validated, row.mentions) for row in rows])
    wanted = np.array([_log_odds(row.f1) for row in rows])
    start = np.array([0.0, 1.0, 0.0])
    pull = np.diag([1e-6, _PULL, _PULL])
    moved = np.linalg.solve(inputs.T @ inputs + pull, inputs.T @ (wanted - inputs @ start))
    return np.asarray(start + moved)


def _residual(row: Observation, line: np.ndarray) -> float:
    return _log_odds(row.f1) - float(line @ f1_features(row.cross_validated, row.mentions))


def _score_line(rows: Sequence[Observation]) -> np.ndarray:
    """Logistic regression by Newton's method; every draw counts alike, whatever it finds."""
    inputs, right, weights = [], [], []
    for row in rows:
        draw = (math.log1p(row.mentions), log_odds_shift(row.as_left_out()))
        every = sum(found for found, _ in row.bins.values())
        for place, (found, good) in row.bins.items():
            for count, is_right in ((good, 1.0), (found - good, 0.0)):
                inputs.append((1.0, STEP * place, *draw))
                right.append(is_right)
                weights.append(count / every)
    x, y, w = np.array(inputs), np.array(right), np.array(weights)
    line = np.zeros(4)
    # What is the same for all mentions of a draw was seen but once a draw, and in few domains.
    pull = np.diag([1e-6, 0.01, _PULL_OF_DRAWS, _PULL_OF_DRAWS])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-(x @ line)))
        slope = x.T @ (w * (chance - y)) + pull @ line
        line = line - np.linalg.solve(
            (x * (w * chance * (1 - chance))[:, None]).T @ x + pull, slope
        )
    return line


def _log_odds(f1: float) -> float:
    return math.log((f1 + _LEAST) / (1 - f1 + _LEAST))


def _rounded(values: np.ndarray) -> tuple:  # type: ignore[type-arg]
    return tuple(round(float(v), 4) for v in values)
