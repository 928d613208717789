"""The inner loop against Algorithm 2: every group descends on its own loss."""

from __future__ import annotations

import pytest
import torch
from bilevel_cases import Case, descended, own_loss, tagger, toy

from adaptner.bilevel import InnerLoop, group_gradients
from adaptner.nn.model import Losses, Parameters

CASES = {"toy": toy, "tagger": tagger}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("through", [False, True])
def test_gradient_of_each_group_is_that_of_its_loss(case, through):
    support, _, start = CASES[case]()
    leaves = {n: p.clone().requires_grad_() for n, p in start.items()}
    found = group_gradients(support(leaves), leaves, apart=through, keep_graph=through)
    for name, gradient in found.items():
        (expected,) = torch.autograd.grad(own_loss(support(leaves), name).sum(), leaves[name])
        torch.testing.assert_close(gradient, expected, msg=name)
        assert gradient.requires_grad == through
    assert set(found) == set(start)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("steps", [1, 3])
def test_adapt_equals_algorithm_2(case, steps):
    support, _, start = CASES[case]()
    inner = InnerLoop(steps, 0.3)
    expected = descended(support, start, steps, 0.3)
    for through in (False, True):
        given = {n: p.clone().requires_grad_(through) for n, p in start.items()}
        found = inner.adapt(support, given, through=through)
        for name in start:
            torch.testing.assert_close(found[name], expected[name], atol=1e-12, rtol=0)
            assert not torch.allclose(found[name], start[name])


def test_adapt_does_not_change_the_start():
    support, _, start = toy()
    before = {n: p.clone() for n, p in start.items()}
    InnerLoop(2, 0.3).adapt(support, start, proximal=1.0)
    for name, p in start.items():
        assert torch.equal(p, before[name])
        assert p.grad is None


def test_proximal_term_keeps_parameters_near_the_start():
    support, _, start = toy()
    expected = descended(support, start, 3, 0.2, proximal=1.5)
    found = InnerLoop(3, 0.2).adapt(support, start, proximal=1.5)
    free = InnerLoop(3, 0.2).adapt(support, start)
    for name in start:
        torch.testing.assert_close(found[name], expected[name], atol=1e-12, rtol=0)
        assert (found[name] - start[name]).norm() < (free[name] - start[name]).norm()


def test_step_on_a_quadratic_by_hand():
    def support(p: Parameters) -> Losses:
        label = (p["encoder.x"].square() / 2 + p["encoder.x"] * p["decoder.y"]).sum(1)
        aux = (p["encoder.x"] * p["head.z"] ** 2).sum(1)
        return Losses(label, aux, label + 2 * aux)

    start = {n: torch.full((1, 1), v) for n, v in (("encoder.x", 3.0), ("decoder.y", 5.0), ("head.z", 7.0))}  # fmt: skip
    found = InnerLoop(1, 0.1).adapt(support, start)
    assert found["encoder.x"].item() == pytest.approx(3 - 0.1 * (3 + 5 + 2 * 49))  # total
    assert found["decoder.y"].item() == pytest.approx(5 - 0.1 * 3)  # label
    assert found["head.z"].item() == pytest.approx(7 - 0.1 * 2 * 3 * 7)  # aux, without λ


def test_tasks_are_independent():
    case: Case = toy()
    support, _, start = case
    together = InnerLoop(2, 0.3).adapt(support, start)
    moved = {n: p.clone() for n, p in start.items()}
    for p in moved.values():
        p[0] += 1
    again = InnerLoop(2, 0.3).adapt(support, moved)
    for name in start:
        assert torch.equal(together[name][1:], again[name][1:])
        assert not torch.allclose(together[name][0], again[name][0])
