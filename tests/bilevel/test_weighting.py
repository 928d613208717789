"""Task weights: equation 2 by hand, and losses for which it is undefined."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from bilevel_cases import tagger
from hypothesis import given
from hypothesis import strategies as st

from adaptner.bilevel import (
    TASK_WEIGHTINGS,
    FirstOrder,
    InnerLoop,
    SecondOrder,
    bilevel_step,
    equal_weights,
    hardness_weights,
)
from adaptner.nn.model import Losses


def losses(label: list[float], aux: list[float] | None, weight: float = 1.0) -> Losses:
    first = torch.tensor(label, dtype=torch.float64)
    if aux is None:
        return Losses(first, None, first)
    second = torch.tensor(aux, dtype=torch.float64)
    return Losses(first, second, first + weight * second)


def test_hardness_weights_by_hand():
    """Encoder by the total, decoder by the labelling, head by the classification loss."""
    found = hardness_weights(losses([6.0, 2.0, 0.0], [1.0, 1.0, 2.0], weight=0.5))
    assert found["encoder"].tolist() == pytest.approx([6.5 / 10, 2.5 / 10, 1.0 / 10])
    assert found["decoder"].tolist() == pytest.approx([6 / 8, 2 / 8, 0])
    assert found["head"].tolist() == pytest.approx([1 / 4, 1 / 4, 2 / 4])


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=6))
def test_hardness_weights_are_shares_of_the_losses(values):
    found = hardness_weights(losses(values, None))
    for weights in found.values():
        assert weights.sum().item() == pytest.approx(1)
        shares = [v / sum(values) for v in values]
        assert weights.tolist() == pytest.approx(shares, rel=1e-5)


def test_equal_weights_are_one_over_m():
    for m in (1, 4):
        found = equal_weights(losses([3.0] * m, [1.0] * m))
        assert set(found) == {"encoder", "decoder", "head"}
        for weights in found.values():
            assert weights.tolist() == [1 / m] * m


@pytest.mark.parametrize(
    "bad", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]], ids=["0/0", "nan", "inf"]
)
def test_undefined_shares_give_equal_weights_and_a_warning(bad):
    with pytest.warns(RuntimeWarning, match="equally"):
        found = hardness_weights(losses(bad, None))
    for weights in found.values():
        assert weights.tolist() == [0.5, 0.5]


def test_only_the_group_with_undefined_shares_is_weighted_equally():
    with pytest.warns(RuntimeWarning):
        found = hardness_weights(losses([3.0, 1.0], [0.0, 0.0]))
    assert found["head"].tolist() == [0.5, 0.5]
    assert found["decoder"].tolist() == [0.75, 0.25]
    assert found["encoder"].tolist() == [0.75, 0.25]


def test_warning_is_shown_once_by_the_default_filter():
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for _ in range(5):
            hardness_weights(losses([0.0, 0.0], None))
    assert len(caught) == 1


def test_finite_losses_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hardness_weights(losses([0.0, 1.0], [1e-30, 0.0]))


@pytest.mark.parametrize("name", TASK_WEIGHTINGS)
def test_weights_require_no_gradient(name):
    label = torch.tensor([2.0, 1.0], requires_grad=True)
    aux = torch.tensor([1.0, 5.0], requires_grad=True)
    found = TASK_WEIGHTINGS[name](Losses(label, aux, label + aux))
    assert all(not w.requires_grad for w in found.values())


@pytest.mark.parametrize("outer", [FirstOrder(), SecondOrder()])
def test_step_weights_query_losses_but_not_gradients(outer):
    support, query, start = tagger()
    inner = InnerLoop(2, 0.2)
    step = bilevel_step(support, query, start, inner, outer, hardness_weights)
    adapted = inner.adapt(support, start)
    expected = hardness_weights(query(adapted))
    for group, weights in step.weights.items():
        torch.testing.assert_close(weights, expected[group])
        assert not torch.allclose(weights, hardness_weights(support(start))[group])
    plain = bilevel_step(support, query, start, inner, outer, equal_weights)
    for name, gradient in step.gradients.items():
        assert torch.equal(gradient, plain.gradients[name])
