"""Calibrated scores and the estimate of F1, from held-out predictions."""

from __future__ import annotations

from collections.abc import Sequence

from adaptner.adaptation.confidence.calibration import CalibrationConstants, StartOfLabels
from adaptner.metrics.spans import Score
from adaptner.models.assessment import Assessment, Estimate
from adaptner.models.mentions import HeldOutPredictions
from adaptner.models.tagger import ESTIMATE_FACT, Tagger
from adaptner.types import LabelSet, Sentence


def start_of_labels(tagger: Tagger) -> StartOfLabels:
    """What the decoder of a tagger's labels has started from, if it is the same for all of them."""
    labels = set(tagger.labels.labels)
    if tagger.facts.get("terms", {}).keys() >= labels:
        return "terms"
    return "sources" if tagger.facts.get("known", {}).keys() >= labels else "names"


def with_estimate(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    held_out: Sequence[HeldOutPredictions] | None,
    constants: CalibrationConstants,
) -> Tagger:
    """Set the tagger's calibration and, given held-out predictions, its assessment."""
    mentions = sum(len(s.entities) for s in sentences)
    tagger.calibration = constants.calibration(mentions, held_out or ())
    if held_out is not None:
        tagger.facts[ESTIMATE_FACT] = assess(held_out, tagger.labels, constants).as_json()
    return tagger


def assess(
    held_out: Sequence[HeldOutPredictions], labels: LabelSet, constants: CalibrationConstants
) -> Assessment:
    scores = {label: _score(held_out, label) for label in labels.labels}
    seen = {label: score for label, score in scores.items() if score.gold}
    unknown = tuple(label for label in scores if label not in seen)
    if not seen:
        return Assessment(None, {}, unknown)
    overall = sum(scores.values(), Score())
    return Assessment(
        _estimate(overall, constants),
        {label: _estimate(score, constants) for label, score in seen.items()},
        unknown,
    )


def _score(held_out: Sequence[HeldOutPredictions], label: str) -> Score:
    found = [(own, m) for own in held_out for m in own.found if m.label == label]
    right = sum(own.right(m) for own, m in found)
    gold = sum(key[2] == label for own in held_out for key in own.gold)
    return Score(right, len(found), gold)


def _estimate(score: Score, constants: CalibrationConstants) -> Estimate:
    f1, low, high = constants.interval(score, score.gold)
    return Estimate(round(f1, 4), round(low, 4), round(high, 4), score.gold)
