"""DATNet: GRAD by hand, the reversed gradient, and the effect of every setting."""

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

from adaptner.methods.datnet import DATNetObjective, DATNetTuneConfig, grad_loss
from adaptner.models.base import Base


@pytest.fixture(scope="module")
def base() -> Base:
    return make_base("datnet")


def test_grad_of_two_source_sentences_and_one_target_sentence():
    source = torch.tensor([[0.9, 0.1], [0.4, 0.6]]).log()
    target = torch.tensor([[0.3, 0.7]]).log()
    of_source = (0.1**2 * math.log(0.9) + 0.6**2 * math.log(0.4)) / 2
    of_target = 0.3**2 * math.log(0.7)
    expected = -0.25 * of_source - 0.75 * of_target
    assert float(grad_loss(source, target, 0.25, 2.0)) == pytest.approx(expected)
    unfocused = -0.5 * (math.log(0.9) + math.log(0.4)) / 2 - 0.5 * math.log(0.7)
    assert float(grad_loss(source, target, 0.5, 0.0)) == pytest.approx(unfocused)


def test_gradient_is_reversed_for_the_encoder_only(base):
    objective = DATNetObjective(base, REQUEST, DATNetTuneConfig(radius=0), SOURCES)
    head, sides = objective.head, encode_pair(base)
    gradients = {}
    for reversal in (True, False):
        head.reversal = reversal
        logs = [head.scores(s.part.states, s.part.mask)[0].log_softmax(-1) for s in sides]
        loss = grad_loss(logs[0], logs[1], 0.25, 2.0)
        inputs = [sides[0].part.states, head.weight]
        gradients[reversal] = torch.autograd.grad(loss, inputs, retain_graph=True)
    torch.testing.assert_close(gradients[True][0], -gradients[False][0])
    torch.testing.assert_close(gradients[True][1], gradients[False][1])


def test_every_setting_changes_the_tagger(base):
    cases = [{}, {"aux_weight": 0}, {"radius": 0}, {"focal_alpha": 0.5}, {"focal_gamma": 0}]
    found = [parameter_sum("datnet", base, CELL_LINES[:6], settings=s) for s in cases]
    assert all(map(math.isfinite, found))
    assert len(set(found)) == len(cases)
