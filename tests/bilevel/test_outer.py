"""Outer gradients against central finite differences."""

from __future__ import annotations

import pytest
import torch
from bilevel_cases import Case, assert_is_gradient, descended, tagger, toy

from adaptner.bilevel import OUTER_GRADIENTS, FirstOrder, Implicit, InnerLoop, SecondOrder
from adaptner.bilevel.outer import conjugate_gradient
from adaptner.nn.model import Losses, Parameters

CASES = {
    "toy": lambda: toy(aux_weight=0.4),
    "toy, heavy classifier": lambda: toy(aux_weight=2.5),
    "toy without classifier": lambda: toy(aux_weight=None),
    "tagger": lambda: tagger(aux_weight=0.4),
    "gru tagger": lambda: tagger(aux_weight=1.7, recurrent="gru"),
}


def check_losses(found: Losses, expected: Losses) -> None:
    for ours, truth in zip(
        (found.label, found.aux, found.total),
        (expected.label, expected.aux, expected.total),
        strict=True,
    ):
        assert (ours is None) == (truth is None)
        if ours is not None:
            assert not ours.requires_grad
            torch.testing.assert_close(ours, truth.detach())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "steps"),
    [(case, steps) for case in CASES for steps in (1, 3) if (case, steps) != ("gru tagger", 3)],
)
def test_second_order_is_the_gradient_of_the_outer_objective(case, steps):
    support, query, start = CASES[case]()
    inner = InnerLoop(steps, 0.3)
    losses, gradients = SecondOrder()(inner, support, query, start)

    def outer(p: Parameters) -> Losses:
        return query(descended(support, p, steps, 0.3))

    check_losses(losses, outer(start))
    assert all(not g.requires_grad for g in gradients.values())
    assert_is_gradient(gradients, outer, start, directions=1)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("steps", [1, 3])
def test_first_order_is_the_gradient_of_the_query_loss_at_the_adapted_point(case, steps):
    support, query, start = CASES[case]()
    losses, gradients = FirstOrder()(InnerLoop(steps, 0.3), support, query, start)
    adapted = descended(support, start, steps, 0.3)
    check_losses(losses, query(adapted))
    assert_is_gradient(gradients, query, adapted)


def test_first_and_second_order_differ():
    """Otherwise the two tests above would pass for one and the same function."""
    support, query, start = tagger()
    first = FirstOrder()(InnerLoop(2, 0.3), support, query, start)[1]
    second = SecondOrder()(InnerLoop(2, 0.3), support, query, start)[1]
    assert all((first[n] - second[n]).abs().max() > 1e-4 for n in start)


def converged(aux_weight: float | None = 1.0) -> tuple[Case, InnerLoop, float]:
    """With λ = 1 all groups descend on one function, whose Hessian is H."""
    return toy(aux_weight, curvature=0.2), InnerLoop(60, 0.3), 1.3


@pytest.mark.parametrize("aux_weight", [1.0, None])
def test_implicit_is_the_gradient_of_the_converged_proximal_problem(aux_weight):
    (support, query, start), inner, strength = converged(aux_weight)
    implicit = Implicit(strength, iterations=20, tolerance=1e-24)
    losses, gradients = implicit(inner, support, query, start)

    def solved(p: Parameters) -> Parameters:
        return inner.adapt(support, p, proximal=strength)

    # The reference assumes that the inner problem is solved: ∇L(θ') + strength (θ' - θ) = 0.
    point = {n: p.detach().requires_grad_() for n, p in solved(start).items()}
    descent = torch.autograd.grad(support(point).total.sum(), [*point.values()])
    for (name, p), d in zip(point.items(), descent, strict=True):
        assert (d + strength * (p - start[name])).abs().max() < 1e-10

    check_losses(losses, query(solved(start)))
    assert_is_gradient(gradients, lambda p: query(solved(p)), start)


def test_implicit_approaches_first_order_as_the_proximal_term_grows():
    support, query, start = toy(1.0, curvature=0.2)
    inner = InnerLoop(50, 1e-8)  # the strong proximal term keeps the parameters at the start
    implicit = Implicit(1e7, iterations=10)(inner, support, query, start)[1]
    first = FirstOrder()(inner, support, query, start)[1]
    for name in start:
        torch.testing.assert_close(implicit[name], first[name], atol=1e-5, rtol=0)


def test_implicit_gradients_of_a_tagger_are_finite():
    support, query, start = tagger(aux_weight=1.0)
    losses, gradients = Implicit(5.0)(InnerLoop(3, 0.1), support, query, start)
    assert set(gradients) == set(start)
    assert all(g.isfinite().all() and g.shape == start[n].shape for n, g in gradients.items())
    assert losses.total.isfinite().all()


def test_conjugate_gradient_equals_a_dense_solve_for_each_task():
    """Tasks of very different condition numbers, one trivial and one with a zero target."""
    g = torch.Generator().manual_seed(0)
    size, tasks = 6, 4
    root = torch.randn(tasks, size, size, generator=g, dtype=torch.float64)
    matrix = root @ root.transpose(1, 2) + 0.5 * torch.eye(size, dtype=torch.float64)
    matrix[1] *= 1e4
    matrix[2] = 3 * torch.eye(size, dtype=torch.float64)  # one iteration
    target = torch.randn(tasks, size, generator=g, dtype=torch.float64)
    target[3] = 0

    def parts(vector: torch.Tensor) -> list[torch.Tensor]:
        return [vector[:, :2], vector[:, 2:].reshape(tasks, 2, 2)]

    def joined(vectors: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat([v.flatten(1) for v in vectors], 1)

    found = conjugate_gradient(
        lambda v: parts(torch.einsum("gij,gj->gi", matrix, joined(v))), parts(target), 40, 1e-28
    )
    expected = torch.linalg.solve(matrix, target)
    torch.testing.assert_close(joined(found), expected, atol=1e-9, rtol=1e-9)
    assert joined(found)[3].abs().max() == 0


def test_conjugate_gradient_stops_at_the_limit_and_on_convergence():
    diagonal = torch.tensor([[1.0, 2, 3, 4]], dtype=torch.float64)
    calls = []

    def product(v: list[torch.Tensor]) -> list[torch.Tensor]:
        calls.append(1)
        return [diagonal * v[0]]

    target = [torch.ones(1, 4, dtype=torch.float64)]
    rough = conjugate_gradient(product, target, 2, 0.0)[0]
    assert len(calls) == 2
    assert (diagonal * rough - 1).abs().max() > 1e-3
    calls.clear()
    exact = conjugate_gradient(product, target, 100, 1e-20)[0]
    assert len(calls) == 4  # as many as distinct eigenvalues
    torch.testing.assert_close(exact, 1 / diagonal)


def test_registry_has_all_three_outer_gradients():
    assert {"first": FirstOrder, "second": SecondOrder, "implicit": Implicit} == OUTER_GRADIENTS
