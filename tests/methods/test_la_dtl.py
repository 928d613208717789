"""La-DTL: its loss as a sum of terms, and the distance of two CRFs."""

from __future__ import annotations

import math

import pytest
import torch
from source_target_pair import (
    CELL_LINES,
    REQUEST,
    SOURCES,
    encode_pair,
    make_base,
    parameter_sum,
)

from adaptner.methods.la_dtl import LaDTLObjective, LaDTLTuneConfig, parameter_distance
from adaptner.models.base import Base
from adaptner.nn.losses.mmd import label_aware_mmd


@pytest.fixture(scope="module")
def base() -> Base:
    return make_base("la-dtl")


def test_loss_is_the_weighted_sum_of_its_terms(base):
    source, target = encode_pair(base)
    config = LaDTLTuneConfig(source_share=0.3, mmd_weight=2.0, tag_weight=0.5, parameter_weight=0.7)
    objective = LaDTLObjective(base, REQUEST, config, SOURCES)
    sides = (source.part.tokens, source.part.token_tags, target.part.tokens, target.part.token_tags)
    expected = 0.3 * source.loss() + 0.7 * target.loss() + 2.0 * label_aware_mmd(*sides, 0.5)
    expected = expected + 0.7 * parameter_distance(source.decoder, target.decoder)
    torch.testing.assert_close(objective.pair_loss(lambda: (source, target)), expected)


def test_parameter_distance_sums_over_the_shared_tags(base):
    source, target = (side.decoder for side in encode_pair(base))
    expected = 0.0
    for a in ("O", "B-Gene", "I-Gene"):
        i, j = target.labels.index[a], source.labels.index[a]
        for name in ("weight", "bias", "start", "end"):
            p, q = getattr(target, name)[0, i], getattr(source, name)[0, j]
            expected += float((p - q).square().sum().detach())
        for b in ("O", "B-Gene", "I-Gene"):
            k, m = target.labels.index[b], source.labels.index[b]
            change = target.transition[0, i, k] - source.transition[0, j, m]
            expected += float(change.detach()) ** 2
    distance = float(parameter_distance(source, target).detach())
    assert distance == pytest.approx(expected, rel=1e-5)
    assert float(parameter_distance(target, target).detach()) == 0


def test_every_term_changes_the_tagger(base):
    cases = [{}, {"mmd_weight": 0}, {"parameter_weight": 0}, {"source_share": 0.1}]
    found = [parameter_sum("la-dtl", base, CELL_LINES[:6], settings=s) for s in cases]
    assert all(map(math.isfinite, found))
    assert len(set(found)) == len(cases)
