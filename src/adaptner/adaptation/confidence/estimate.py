"""From sentences left out to calibrated scores and an estimate of F1."""

from __future__ import annotations

from collections.abc import Sequence

from adaptner.adaptation.confidence.calibration import CalibrationConstants
from adaptner.metrics.spans import Score
from adaptner.models.assessment import Assessment, Estimate
from adaptner.models.mentions import HeldOutPredictions
from adaptner.models.tagger import ESTIMATE_FACT, Tagger
from adaptner.types import LabelSet, Sentence


def with_estimate(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    left_out: Sequence[HeldOutPredictions] | None,
    trust: CalibrationConstants,
) -> Tagger:
    """The tagger with calibrated scores and, where sentences were left out, its own assessment."""
    mentions = sum(len(s.entities) for s in sentences)
    tagger.calibration = trust.calibration(mentions, left_out or ())
    if left_out is not None:
        tagger.facts[ESTIMATE_FACT] = assess(left_out, tagger.labels, trust).as_json()
    return tagger


def assess(
    left_out: Sequence[HeldOutPredictions], labels: LabelSet, trust: CalibrationConstants
) -> Assessment:
    scores = {label: _score(left_out, label) for label in labels.labels}
    seen = {label: score for label, score in scores.items() if score.gold}
    unknown = tuple(label for label in scores if label not in seen)
    if not seen:
        return Assessment(None, {}, unknown)
    overall = sum(scores.values(), Score())
    return Assessment(
        _estimate(overall, trust),
        {label: _estimate(score, trust) for label, score in seen.items()},
        unknown,
    )


def _score(left_out: Sequence[HeldOutPredictions], label: str) -> Score:
    found = [(own, m) for own in left_out for m in own.found if m.label == label]
    right = sum(own.right(m) for own, m in found)
    gold = sum(key[2] == label for own in left_out for key in own.gold)
    return Score(right, len(found), gold)


def _estimate(score: Score, trust: CalibrationConstants) -> Estimate:
    f1, low, high = trust.interval(score, score.gold)
    return Estimate(round(f1, 4), round(low, 4), round(high, 4), score.gold)
