"""A loss that is not finite stops the run and keeps the last good parameters."""

from __future__ import annotations

import json
import random

import pytest
import torch
from safetensors import safe_open
from torch import nn

from adaptner.errors import TrainingDiverged
from adaptner.training import loop
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import CHECKPOINT_FILE, TrainingState, restore_checkpoint
from adaptner.training.loop import METRICS, StepMetrics, TrainingRun, run_training
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.training.records import MetricsFile


def fresh_state() -> TrainingState:
    model = nn.Linear(2, 1, bias=False)
    nn.init.ones_(model.weight)
    optimiser = Optimiser(model.parameters(), OptimiserConfig(rate=0.1, schedule="constant"))
    return TrainingState(model, optimiser, random.Random(0), torch.Generator().manual_seed(0))


def good_until(state: TrainingState, last: int, loss: float, gradient: float):
    def iterate(iteration: int) -> StepMetrics:
        bad = iteration > last
        state.model.weight.grad = torch.full((1, 2), gradient if bad else 1.0)
        return StepMetrics(loss if bad else 1.0)

    return iterate


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), -float("inf")])
def test_loss_that_is_not_finite_stops_before_the_step(tmp_path, loss):
    state = fresh_state()
    with pytest.raises(TrainingDiverged) as error:
        run_training(state, good_until(state, 3, loss, 1.0), Budget(10), TrainingRun(tmp_path, "x"))
    assert "iteration 4" in str(error.value)
    assert "0.1" in str(error.value)  # the rate to lower
    assert str(tmp_path / CHECKPOINT_FILE) in str(error.value)
    kept = fresh_state()
    restore_checkpoint(kept, tmp_path, "x")
    assert kept.done == 3
    assert torch.equal(kept.model.weight, state.model.weight)
    assert bool(kept.model.weight.isfinite().all())
    metrics = [json.loads(x) for x in (tmp_path / METRICS).read_text().splitlines()]
    assert [m["iteration"] for m in metrics] == [1, 2, 3]


@pytest.mark.parametrize("checkpoint_seconds", [0.0, 60.0])
@pytest.mark.parametrize("gradient", [float("nan"), float("inf")])
def test_gradient_that_is_not_finite_stops_before_the_step(tmp_path, gradient, checkpoint_seconds):
    state = fresh_state()
    run = TrainingRun(tmp_path, "x", checkpoint_seconds=checkpoint_seconds)
    with pytest.raises(TrainingDiverged, match="iteration 4"):
        run_training(state, good_until(state, 3, 1.0, gradient), Budget(4), run)
    kept = fresh_state()
    restore_checkpoint(kept, tmp_path, "x")
    assert kept.done == 3
    assert bool(kept.model.weight.isfinite().all())


def test_metrics_files_are_closed_after_ctrl_c(tmp_path, monkeypatch):
    opened = []

    class Recorded(MetricsFile):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            opened.append(self)

    def interrupted(iteration: int) -> StepMetrics:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "MetricsFile", Recorded)
    with pytest.raises(KeyboardInterrupt):
        run_training(fresh_state(), interrupted, Budget(2), TrainingRun(tmp_path, "x"))
    assert [record._file.closed for record in opened] == [True, True]


def test_error_without_a_folder_says_that_nothing_was_written():
    state = fresh_state()
    with pytest.raises(TrainingDiverged, match="nothing had been written"):
        run_training(state, good_until(state, 3, float("nan"), 1.0), Budget(10), TrainingRun())


def test_error_before_the_first_checkpoint_names_none(tmp_path):
    """Parameters that diverged before the first checkpoint are not kept."""
    state = fresh_state()
    with torch.no_grad():
        state.model.weight.fill_(float("nan"))
    with pytest.raises(TrainingDiverged, match="nothing had been written"):
        run_training(
            state, good_until(state, 0, float("nan"), 1.0), Budget(10), TrainingRun(tmp_path, "x")
        )
    assert not (tmp_path / CHECKPOINT_FILE).exists()


def test_diverged_parameters_do_not_replace_a_checkpoint(tmp_path):
    state = fresh_state()
    run_training(state, good_until(state, 9, 1.0, 1.0), Budget(2), TrainingRun(tmp_path, "x"))
    before = (tmp_path / CHECKPOINT_FILE).read_bytes()

    def iterate(iteration: int) -> StepMetrics:
        with torch.no_grad():
            state.model.weight.fill_(float("nan"))
        return StepMetrics(float("nan"))

    with pytest.raises(TrainingDiverged, match="are kept in"):
        run_training(state, iterate, Budget(5), TrainingRun(tmp_path, "x", resume=True))
    assert (tmp_path / CHECKPOINT_FILE).read_bytes() == before


@pytest.mark.filterwarnings("ignore:task losses are all zero or not finite")
def test_huge_rate_diverges_and_keeps_finite_parameters(fit, tmp_path):
    run = TrainingRun(tmp_path, "x", checkpoint_seconds=0)
    with pytest.raises(TrainingDiverged) as error:
        fit(60, run, base_rate=1e30)
    assert str(tmp_path / CHECKPOINT_FILE) in str(error.value)
    with safe_open(tmp_path / CHECKPOINT_FILE, framework="pt") as file:
        parameters = [file.get_tensor(n) for n in file.keys() if n.startswith("model.")]  # noqa: SIM118
    assert parameters
    assert all(bool(p.isfinite().all()) for p in parameters)
