"""Constants of trust from draws made up by known rules, and what is reported of them."""

from __future__ import annotations

import math
import random

import pytest
import torch

from adaptner.adaptation.confidence.calibration import CalibrationConstants, sigmoid
from adaptner.corpora.bundled import bundled_corpus
from adaptner.evaluation.calibration.fit import (
    STEP,
    Observation,
    fit_calibration,
    observe,
    token_spans,
)
from adaptner.evaluation.calibration.report import (
    Bin,
    calibration_error,
    check_calibration,
    judge_draw,
    pooled,
    report,
)
from adaptner.methods.named import NamedMethod
from adaptner.models.base import Base
from adaptner.nn.encoders.recurrent import EncoderConfig
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.model import TaggingModel
from adaptner.types import Sentence


def made_up(domain: str, seed: int, size: int = 50) -> Observation:
    """A model twice as sure as it should be: right with σ(x / 2 - 1); F1 as cross-validated."""
    rng = random.Random(f"{domain} {seed}")
    share = rng.uniform(0.2, 0.8)
    gold = 40
    right = sum(rng.random() < share for _ in range(gold))
    left_out = [(1, [(2.0, i < right)]) for i in range(gold)]
    bins = {}
    for place in range(-40, 41, 4):
        bins[place] = (100, round(100 * sigmoid(0.5 * STEP * place - 1)))
    return Observation(
        corpus=f"{domain}-{seed % 2}",
        domain=domain,
        size=size,
        seed=seed,
        mentions=gold,
        left_out=left_out,
        test=(round(1000 * share), 1000, 1000),
        bins=bins,
        fit_seconds=2.0,
        estimate_seconds=1.0,
    )


ROWS = [made_up(domain, seed) for domain in "abcd" for seed in range(6)]


def test_the_rule_is_found_again() -> None:
    found = fit_calibration(ROWS)
    constant, slope, by_size, by_shift = found.scores
    assert slope == pytest.approx(0.5, abs=0.02)
    assert by_shift == pytest.approx(0, abs=0.05)  # every draw has the same rule
    assert constant + by_size * math.log1p(40) == pytest.approx(-1, abs=0.1)
    assert found.f1[1] > 0.5  # cross-validation is worth something here
    for row in ROWS:
        expected, low, high = found.interval(row.cross_validated, row.mentions)
        assert low <= expected <= high
    assert sum(judge_draw(row, found).covered for row in ROWS) >= 0.9 * len(ROWS)


def test_draws_without_a_mention_decide_nothing() -> None:
    nothing = ROWS[0].model_copy(update={"mentions": 0, "left_out": [(0, [])]})
    assert fit_calibration([*ROWS, nothing]) == fit_calibration(ROWS)
    assert judge_draw(nothing, CalibrationConstants()).interval is None


def test_the_error_of_calibration() -> None:
    assert calibration_error([]) == 0
    # 10 mentions of 0.8 of which 5 are right, 30 of 0.1 of which 3 are: (3 + 0) / 40
    assert calibration_error([Bin(10, 8.0, 5), Bin(30, 3.0, 3)]) == pytest.approx(3 / 40)
    assert pooled([(Bin(1, 0.5, 1), Bin()), (Bin(2, 1.0, 0), Bin(1, 1.0, 1))]) == (
        Bin(3, 1.5, 1),
        Bin(1, 1.0, 1),
    )


def test_a_domain_is_judged_by_the_others() -> None:
    strange = ROWS[0].model_copy(update={"domain": "z", "bins": {0: (10, 10)}})
    draws = check_calibration([*ROWS, strange])
    own = draws[-1]
    assert own.bins == judge_draw(strange, fit_calibration(ROWS)).bins
    assert sum(b.found for b in own.bins) == sum(b.found for b in own.raw_bins) == 10
    text = report(draws)
    assert "**mean**" in text
    assert "0.50 times as long as the fit" in text


def test_a_draw_is_observed() -> None:
    target = bundled_corpus("cellline")
    generator = torch.Generator().manual_seed(0)
    tiny = EncoderConfig(word_width=8, char_embedding=4, char_cnn_filters=4, char_lstm=0, hidden=4)
    encoder, batcher = new_encoder(tiny, target.split("train"), None, 0, generator)
    base = Base(TaggingModel(encoder, {}, generator), batcher, "named")
    support, test = target.split("train")[:8], target.split("test")[:20]
    row = observe(NamedMethod(adaptation={"name": 0}), base, target, list(support), list(test), 3)
    assert (row.size, row.seed, row.domain) == (8, 3, target.domain)
    assert row.mentions == sum(len(s.entities) for s in support) == row.cross_validated.gold
    right, found, gold = row.test
    assert gold == sum(len(s.entities) for s in test)
    assert found == sum(n for n, _ in row.bins.values())
    assert right == sum(n for _, n in row.bins.values())
    assert Observation.model_validate_json(row.model_dump_json()) == row
    again = row.as_left_out()
    assert sum(own.right(m) for own in again for m in own.found) == (
        row.cross_validated.true_positives
    )


def test_spans_by_tokens() -> None:
    one = Sentence.from_tokens(["a", "b", "c"], ["O", "B-X", "I-X"])
    assert token_spans(one) == {(1, 3, "X")}
