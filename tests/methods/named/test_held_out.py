"""Cross-validation, calibration and the estimate of F1."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import pytest
import torch
from builders import sentence

from adaptner.adaptation.confidence.calibration import (
    CONSTANTS_FILE,
    CalibrationConstants,
    log_odds_shift,
    sigmoid,
)
from adaptner.adaptation.confidence.estimate import assess, with_estimate
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import ModelUnreadable
from adaptner.methods.named import NamedMethod
from adaptner.methods.named import decoder_fit as linear_fit_module
from adaptner.methods.named import held_out as module
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_fit import fit_linear_decoder
from adaptner.methods.named.encoder_choice import EncodedTarget
from adaptner.methods.named.held_out import assign_folds, cross_validate, group_by_length
from adaptner.metrics.spans import Score
from adaptner.models.mentions import HeldOutPredictions, PredictedMention
from adaptner.models.tagger import Tagger
from adaptner.types import LabelSet, Sentence

LABELS = LabelSet(("CellLine",))
SUPPORT = list(bundled_corpus("cellline").split("train")[:12])


@pytest.mark.slow
def test_each_fold_equals_a_fit_without_its_sentences(base, monkeypatch):
    monkeypatch.setattr(module, "TOLERANCE", 1e-6)
    monkeypatch.setattr(module, "FOLDS", 3)
    exact = partial(linear_fit_module.fit_decoder, tolerance=1e-6)
    monkeypatch.setattr(linear_fit_module, "fit_decoder", exact)
    config = LinearFitConfig(linear_steps=100, name_weight=0, penalty=0.01, bias_penalty=0.01)
    together = cross_validate(EncodedTarget.of(base, SUPPORT, config, LABELS), config).fitted
    fold = assign_folds(SUPPORT, random.Random(0))
    assert any(own.found for own in together)
    for number in set(fold):
        rest = [s for s, own in zip(SUPPORT, fold, strict=True) if own != number]
        alone = fit_linear_decoder(EncodedTarget.of(base, rest, config, LABELS), config)
        for place, held_out in enumerate(SUPPORT):
            if fold[place] != number:
                continue
            (found,) = alone.mentions([held_out])
            assert [m[:3] for m in together[place].found] == [m[:3] for m in found]
            for mine, theirs in zip(together[place].found, found, strict=True):
                assert mine.log_odds == pytest.approx(theirs.log_odds, abs=0.1)
    assert [len(own.gold) for own in together] == [len(s.entities) for s in SUPPORT]


def test_folds_spread_mentions_evenly_and_keep_duplicates_together():
    sentences = [*SUPPORT, SUPPORT[0], SUPPORT[5]]
    fold = assign_folds(sentences, random.Random(1))
    assert fold[0] == fold[12]
    assert fold[5] == fold[13]
    assert sorted(set(fold)) == list(range(module.FOLDS))
    mentions = Counter[int]()
    for number, s in zip(assign_folds(SUPPORT, random.Random(2)), SUPPORT, strict=True):
        mentions[number] += len(s.entities)
    assert max(mentions.values()) - min(mentions.values()) <= 2
    assert sorted(assign_folds(SUPPORT[:3], random.Random(0))) == [0, 1, 2]
    many = SUPPORT * 5
    groups = group_by_length(many)
    assert sorted(i for group in groups for i in group) == list(range(60))
    assert len(groups) <= module.GROUPS


def left_out(odds: list[tuple[float, bool]], gold: int) -> HeldOutPredictions:
    found = tuple(PredictedMention(i, i + 1, "X", x) for i, (x, _) in enumerate(odds))
    right = {m[:3] for m, (_, is_right) in zip(found, odds, strict=True) if is_right}
    missed = {(100 + i, 101 + i, "X") for i in range(gold - len(right))}
    return HeldOutPredictions(frozenset(right | missed), found)


def test_shift_calibrates_the_held_out_predictions():
    assert log_odds_shift([]) == 0
    sure = [left_out([(2.0, i % 4 == 0) for i in range(40)], 40)]
    shift = log_odds_shift(sure)
    assert shift < -1  # a quarter is right of what promised 88%
    slope = sum(sigmoid(2 + shift) - (i % 4 == 0) for i in range(40)) + shift
    assert slope == pytest.approx(0, abs=1e-9)
    assert log_odds_shift([left_out([(-2.0, True)], 1)]) > 0


def test_interval_narrows_with_mentions_and_is_missing_without():
    trust = CalibrationConstants(spread=(-0.5, -0.3))
    few, many = trust.interval(Score(2, 4, 4), 4), trust.interval(Score(40, 80, 80), 80)
    assert few[1] < few[0] < few[2]
    assert many[2] - many[1] < few[2] - few[1]
    surprising = trust.interval(Score(80, 80, 80), 80)
    assert surprising[2] >= 1.0  # what cross-validation found is not ruled out
    labels = LabelSet(("X", "Y"))
    assessment = assess([left_out([(1.0, True), (0.0, False)], 3)], labels, trust)
    assert list(assessment.by_label) == ["X"]
    assert assessment.unknown == ("Y",)
    assert assessment.overall == assessment.by_label["X"]
    assert assessment.overall.mentions == 3
    nothing = assess([left_out([], 0)], labels, trust)
    assert nothing.overall is None
    assert nothing.unknown == ("X", "Y")


def test_overconfident_held_out_predictions_lower_the_scores(tagger):
    trust = CalibrationConstants(scores=(-1.0, 0.5, 0.1, 0.5))
    own = Tagger(tagger.encoder, tagger.decoder, tagger.batcher, "named")
    doubtful = with_estimate(own, SUPPORT, [left_out([(3.0, False)] * 9, 9)], trust).calibration
    neutral = with_estimate(own, SUPPORT, None, trust).calibration
    assert doubtful.slope == neutral.slope == 0.5
    assert doubtful.intercept < neutral.intercept


def test_there_are_no_held_out_predictions_for_one_or_too_many_sentences(base):
    method = NamedMethod(adaptation={"name_weight": 0})
    assert len(method.held_out(base, SUPPORT) or ()) == len(SUPPORT)
    assert method.held_out(base, SUPPORT[:1]) is None
    assert method.held_out(base, [SUPPORT[0]] * 3) is None  # nothing is left to learn from
    short = sentence("HeLa", "B-CellLine")
    many = [Sentence.from_tokens([f"w{i}"]) for i in range(300)]
    assert method.held_out(base, [short, *many]) is None


def test_constants_are_read_from_the_folder_of_the_base(tmp_path):
    assert (
        CalibrationConstants.of(None) == CalibrationConstants.of(tmp_path) == CalibrationConstants()
    )
    own = CalibrationConstants(reach=3.5)
    own.save(tmp_path)
    assert CalibrationConstants.of(tmp_path) == CalibrationConstants.of(tmp_path, "sources") == own
    of_known = CalibrationConstants(reach=4.5)
    of_known.save(tmp_path, "sources")
    assert (CalibrationConstants.of(tmp_path), CalibrationConstants.of(tmp_path, "sources")) == (
        own,
        of_known,
    )
    (tmp_path / CONSTANTS_FILE).write_text('{"reach": "far"}')
    with pytest.raises(ModelUnreadable):
        CalibrationConstants.of(tmp_path)


def test_cross_validation_leaves_the_base_unchanged(base):
    before = {n: p.clone() for n, p in base.model.state_dict().items()}
    config = LinearFitConfig(linear_steps=3)
    cross_validate(EncodedTarget.of(base, SUPPORT, config, LABELS), config)
    assert all(torch.equal(p, before[n]) for n, p in base.model.state_dict().items())


def test_fifty_labels_are_assessed(base):
    """Each occurs once, so that it is never in the training folds of its own sentence."""
    labels = LabelSet(tuple(f"T{i:02}" for i in range(50)))
    sentences = [sentence(f"a w{i} b", f"O B-T{i:02} O") for i in range(50)]
    config = LinearFitConfig(linear_steps=2)
    left = cross_validate(EncodedTarget.of(base, sentences, config, labels), config).fitted
    assessment = assess(left, labels, CalibrationConstants())
    assert len(assessment.by_label) == 50
    assert assessment.overall is not None
    assert assessment.overall.mentions == 50
