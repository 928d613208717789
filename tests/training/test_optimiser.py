"""Budget, schedule, clipping, and parameters without a gradient."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
import torch
from torch import nn

from adaptner.episodes import TaskSource
from adaptner.errors import BudgetTooSmall
from adaptner.methods.families import source_pretrained
from adaptner.training.budget import Budget, Clock
from adaptner.training.checkpoint import TrainingState
from adaptner.training.loop import StepMetrics, TrainingRun, run_training
from adaptner.training.optimiser import Optimiser, OptimiserConfig, sparse_rows


def parameter(*values: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values))


# --- budget ---------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """A settable replacement of ``time.monotonic``."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


class CountedRun:
    """Records its iterations; each takes two seconds of ``clock``."""

    def __init__(self, clock: list[float] | None = None) -> None:
        model = nn.Linear(1, 1)
        optimiser = Optimiser(model.parameters(), OptimiserConfig())
        self.state = TrainingState(model, optimiser, random.Random(0), torch.Generator())
        self.iterations: list[int] = []
        self._clock = clock or [0.0]

    def train(self, budget: Budget, run: TrainingRun) -> None:
        run_training(self.state, self._iterate, budget, run)

    def _iterate(self, iteration: int) -> StepMetrics:
        self.iterations.append(iteration)
        self._clock[0] += 2.0
        return StepMetrics(1.0)


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_budget_in_steps(steps):
    run = CountedRun()
    run.train(Budget(steps), TrainingRun())
    assert run.iterations == list(range(1, steps + 1))
    assert run.state.done == steps


def test_budget_of_ten_seconds_ends_after_the_fifth_iteration_of_two_seconds(clock):
    run = CountedRun(clock)
    run.train(Budget(10**6, 10.0), TrainingRun())
    assert run.iterations == [1, 2, 3, 4, 5]


def test_seconds_spent_before_an_interruption_count(clock, tmp_path):
    first, second = CountedRun(clock), CountedRun(clock)
    first.train(Budget(10**6, 6.0), TrainingRun(tmp_path, "x"))
    second.train(Budget(10**6, 10.0), TrainingRun(tmp_path, "x", resume=True))
    assert first.iterations == [1, 2, 3]
    assert second.iterations == [4, 5]


@pytest.mark.parametrize(("steps", "seconds"), [(-1, None), (5, 0.0), (5, -1.0)])
def test_impossible_budget_raises(steps, seconds):
    with pytest.raises(BudgetTooSmall):
        Budget(steps, seconds)


def test_share_spent_is_the_larger_share():
    clock = Clock()
    assert clock.share_spent(Budget(10), 4) == 0.4
    assert clock.share_spent(Budget(10, 1000.0), 4) == 0.4
    assert Clock(already=90.0).share_spent(Budget(10, 100.0), 4) == pytest.approx(0.9, abs=0.01)
    assert Clock(already=900.0).share_spent(Budget(10, 100.0), 4) == 1.0
    assert clock.share_spent(Budget(0), 0) == 1.0


# --- schedule and clipping ------------------------------------------------------------------------


def plain(**facts: object) -> OptimiserConfig:
    """A configuration with steps of rate x gradient."""
    return OptimiserConfig(**{"momentum": 0.0, "weight_decay": 0.0, "clip": 1e9, **facts})


def steps_taken(config: OptimiserConfig, shares: list[float]) -> list[float]:
    p = parameter(0.0)
    optimiser = Optimiser([p], config)
    taken = []
    for share in shares:
        before = p.item()
        p.grad = torch.ones(1)
        optimiser.step(share)
        taken.append(before - p.item())
    return taken


def test_linear_schedule_falls_from_the_full_rate_to_zero():
    shares = [0.0, 0.25, 0.5, 0.75, 1.0]
    assert steps_taken(plain(rate=0.8), shares) == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.0])


def test_constant_schedule_keeps_the_rate():
    config = plain(rate=0.8, schedule="constant")
    assert steps_taken(config, [0.0, 0.5, 1.0]) == pytest.approx([0.8] * 3)


def test_loop_passes_the_spent_share_to_the_schedule():
    """The first of n steps has the full rate, the last one n-th of it."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    optimiser = Optimiser(model.parameters(), plain(rate=1.0))
    state = TrainingState(model, optimiser, random.Random(0), torch.Generator())
    places = [0.0]

    def iterate(iteration: int) -> StepMetrics:
        model.weight.grad = torch.ones(1, 1)
        return StepMetrics(1.0)

    def progress(done: int, total: int, remark: str = "") -> None:
        places.append(model.weight.item())

    run_training(state, iterate, Budget(4), TrainingRun(progress=progress))
    moved = [a - b for a, b in pairwise(places)]
    assert moved == pytest.approx([1.0, 0.75, 0.5, 0.25])


def test_clipping_uses_the_joint_norm():
    a, b = parameter(0.0), parameter(0.0)
    optimiser = Optimiser([a, b], plain(rate=1.0, clip=1.0))
    a.grad, b.grad = torch.tensor([30.0]), torch.tensor([40.0])
    assert optimiser.step(0.0) == pytest.approx(50.0)
    assert [a.item(), b.item()] == pytest.approx([-0.6, -0.8], rel=1e-4)


def test_small_gradient_is_not_clipped():
    p = parameter(0.0)
    optimiser = Optimiser([p], plain(rate=1.0, clip=5.0))
    p.grad = torch.tensor([4.9])
    optimiser.step(0.0)
    assert p.item() == pytest.approx(-4.9)


def test_sgd_has_momentum_and_weight_decay():
    p = parameter(1.0)
    config = OptimiserConfig(rate=0.1, momentum=0.9, weight_decay=0.01, schedule="constant")
    optimiser = Optimiser([p], config)
    value, velocity = 1.0, 0.0
    for gradient in (1.0, -0.5, 0.25):
        p.grad = torch.tensor([gradient])
        optimiser.step(0.0)
        velocity = 0.9 * velocity + gradient + 0.01 * value
        value -= 0.1 * velocity
    assert p.item() == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", ["sgd", "adamw"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_gradient_that_is_not_finite_changes_nothing(name, bad):
    p, q = parameter(1.0, 2.0), parameter(3.0)
    optimiser = Optimiser([p, q], OptimiserConfig(name=name, rate=0.1))
    p.grad, q.grad = torch.tensor([bad, 1.0]), torch.tensor([1.0])
    assert not torch.isfinite(torch.tensor(optimiser.step(0.0)))
    assert p.tolist() == [1.0, 2.0]
    assert q.tolist() == [3.0]
    assert p.grad is None
    assert optimiser.state() == {}


# --- parameters without a gradient ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_parameter_without_a_gradient_does_not_change(name):
    p, q = parameter(1.0), parameter(1.0)
    config = OptimiserConfig(name=name, rate=0.1, weight_decay=0.1, schedule="constant")
    optimiser = Optimiser([p, q], config)
    p.grad, q.grad = torch.ones(1), torch.ones(1)
    optimiser.step(0.0)  # both now have momentum
    before = q.detach().clone()
    momentum = {n: t.clone() for n, t in optimiser.state().items() if n.startswith("1.")}
    assert momentum
    moved = p.item()
    for _ in range(3):
        p.grad = torch.ones(1)
        optimiser.step(0.0)
    assert torch.equal(q, before)
    assert p.item() < moved
    after = optimiser.state()
    assert all(torch.equal(t, after[n]) for n, t in momentum.items())


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_decoder_of_an_absent_domain_does_not_change(fit, monkeypatch, optimiser):
    """Neither by momentum nor by weight decay, after steps with all domains."""
    steps_with_all, domains = 4, []
    sample, build = TaskSource.sample, source_pretrained.build_model
    models: list[nn.Module] = []
    snapshots: dict[int, dict[str, torch.Tensor]] = {}

    def sample_planned(self, rng):
        wanted = len(domains) % 3 if len(domains) < 2 * steps_with_all else 0
        domains.append(wanted)
        while (task := sample(self, rng)).domain != wanted:
            pass
        return task

    def build_and_keep(*arguments):
        model, batcher = build(*arguments)
        models.append(model)
        return model, batcher

    def snapshot(done: int, total: int, remark: str = "") -> None:
        if done in (steps_with_all, total):
            snapshots[done] = {n: p.detach().clone() for n, p in models[0].named_parameters()}

    monkeypatch.setattr(TaskSource, "sample", sample_planned)
    monkeypatch.setattr(source_pretrained, "build_model", build_and_keep)
    settings = {"name": optimiser, "weight_decay": 0.1, "schedule": "constant"}
    fit(2 * steps_with_all, TrainingRun(progress=snapshot), optimiser=settings)
    first, last = snapshots[steps_with_all], snapshots[2 * steps_with_all]
    unchanged = {n for n in first if torch.equal(first[n], last[n])}
    absent = {n for n in first if n.startswith(("decoder.1.", "decoder.2."))}
    assert absent
    assert unchanged == absent


# --- sparse gradients -----------------------------------------------------------------------------


def rows_of_two(p: nn.Parameter, value: float) -> torch.Tensor:
    values = torch.full((2, p.shape[1]), value)
    return sparse_rows(p, torch.tensor([1, 3]), values)


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_only_rows_of_a_sparse_gradient_change(name):
    table, other = nn.Parameter(torch.ones(5, 2)), parameter(1.0)
    optimiser = Optimiser([table, other], OptimiserConfig(name=name, rate=0.1), sparse=[table])
    for _ in range(3):
        table.grad, other.grad = rows_of_two(table, 0.5), torch.tensor([0.5])
        optimiser.step(0.0)
    assert torch.equal(table[[0, 2, 4]], torch.ones(3, 2))
    assert bool((table[[1, 3]] < 0.95).all())
    assert float(other) < 0.95


def test_sparse_gradient_is_part_of_the_norm():
    """The norm equals that of the same gradient as a dense tensor."""
    moved = []
    for sparse in (True, False):
        table, other = nn.Parameter(torch.zeros(5, 2)), parameter(0.0)
        config = OptimiserConfig(rate=1.0, momentum=0.0, weight_decay=0.0, clip=2.0)
        optimiser = Optimiser([table, other], config, sparse=[table] if sparse else [])
        gradient = rows_of_two(table, 3.0)
        table.grad, other.grad = gradient if sparse else gradient.to_dense(), torch.tensor([4.0])
        norm = optimiser.step(0.0)
        assert norm == pytest.approx((4 * 9 + 16) ** 0.5)
        moved.append(torch.cat([table.detach().flatten(), other.detach()]))
    torch.testing.assert_close(moved[0], moved[1])
    assert float(moved[0].norm()) == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("name", ["sgd", "adamw"])
@pytest.mark.parametrize("fused", [False, True])
def test_sparse_moments_survive_a_checkpoint(name, fused):
    def fresh():
        table, other = nn.Parameter(torch.ones(5, 2)), parameter(1.0, 2.0)
        config = OptimiserConfig(name=name, rate=0.1)
        return table, other, Optimiser([table, other], config, sparse=[table], fused=fused)

    def steps(table, other, optimiser, values):
        for value in values:
            table.grad, other.grad = rows_of_two(table, value), torch.tensor([value, -value])
            optimiser.step(0.0)

    whole = fresh()
    steps(*whole, [0.5, -0.2, 0.9, 0.1])
    first, second = fresh(), fresh()
    steps(*first, [0.5, -0.2])
    with torch.no_grad():
        for mine, theirs in zip(second[:2], first[:2], strict=True):
            mine.copy_(theirs)
    second[2].restore(first[2].state())
    steps(*second, [0.9, 0.1])
    assert all(torch.equal(a, b) for a, b in zip(whole[:2], second[:2], strict=True))
