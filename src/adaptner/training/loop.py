"""The training loop every method shares: budget, schedule, divergence, records, checkpoints."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import torch

from adaptner.compute import CPU
from adaptner.errors import TrainingDiverged
from adaptner.files import atomic_file
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget, Clock
from adaptner.training.checkpoint import (
    CHECKPOINT_FILE,
    TrainingState,
    restore_checkpoint,
    save_checkpoint,
)
from adaptner.training.records import MetricsFile

CONFIG, METRICS, HARDNESS = "config.json", "metrics.jsonl", "hardness.jsonl"


@dataclass(frozen=True)
class StepMetrics:
    """What one iteration has to say: its loss, numbers for the metrics file, a remark for the bar
    and, where it is to be recorded, the tasks with their hardness."""

    loss: float
    metrics: dict[str, float] = field(default_factory=dict)
    remark: str = ""
    tasks: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class TrainingRun:
    """Where a run lives and how it is watched. Without a folder nothing is written."""

    folder: Path | None = None
    fingerprint: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False
    checkpoint_seconds: float = 60.0
    progress: ProgressCallback = no_progress
    device: torch.device = CPU  # where a method puts a model that it makes


def run_training(
    state: TrainingState,
    iterate: Callable[[int], StepMetrics],
    budget: Budget,
    run: TrainingRun,
    is_finished: Callable[[int], bool] = lambda iterations: False,
) -> TrainingState:
    """Call ``iterate`` (which fills ``.grad``) and take a step, until the budget is spent or
    ``is_finished``, called with the number of iterations done, returns True."""
    if run.resume and run.folder is not None and (run.folder / CHECKPOINT_FILE).exists():
        restore_checkpoint(state, run.folder, run.fingerprint)
    clock = Clock(state.seconds)
    records: list[MetricsFile] = []
    if run.folder is not None:
        run.folder.mkdir(parents=True, exist_ok=True)
        if not run.resume:  # an older run's: the records it belongs to go here and now
            (run.folder / CHECKPOINT_FILE).unlink(missing_ok=True)
        with atomic_file(run.folder / CONFIG) as file:
            json.dump(run.settings, file, indent=1, ensure_ascii=False)
        records = [MetricsFile(run.folder / name, state.done) for name in (METRICS, HARDNESS)]
    saved = time.monotonic()
    while state.done < budget.steps and not _late(clock, budget):
        iteration = state.done + 1
        report = iterate(iteration)
        if not math.isfinite(report.loss):
            _stop(state, run, records, str(report.loss))
        norm = state.optimiser.step(clock.share_spent(budget, state.done))
        if not math.isfinite(norm):
            _stop(state, run, records, f"{report.loss} with a gradient of {norm}")
        state.done, state.seconds = iteration, clock.seconds()
        if records:
            records[0].add(iteration=iteration, loss=report.loss, **report.metrics)
            for task in report.tasks or ():
                records[1].add(iteration=iteration, **task)
        run.progress(iteration, budget.steps, report.remark)
        if records and time.monotonic() - saved >= run.checkpoint_seconds:
            for record in records:
                record.flush()
            assert run.folder is not None
            save_checkpoint(state, run.folder, run.fingerprint)
            saved = time.monotonic()
        if is_finished(iteration):
            break
    if records:
        for record in records:
            record.close()
        assert run.folder is not None
        save_checkpoint(state, run.folder, run.fingerprint)
    return state


def _late(clock: Clock, budget: Budget) -> bool:
    return budget.seconds is not None and clock.seconds() >= budget.seconds


def _stop(
    state: TrainingState, run: TrainingRun, records: list[MetricsFile], loss: str
) -> NoReturn:
    """The parameters are still those before the bad iteration: if they are sound, keep them as the
    last good ones, else leave the last checkpoint as it is."""
    for record in records:
        record.close()
    kept = "nothing had been written"
    if run.folder is not None:
        if all(bool(p.isfinite().all()) for p in state.model.parameters()):
            save_checkpoint(state, run.folder, run.fingerprint)
        if (run.folder / CHECKPOINT_FILE).exists():
            kept = f"the last good parameters are kept in {run.folder / CHECKPOINT_FILE}"
    raise TrainingDiverged(
        loss=loss, iteration=state.done + 1, rates=state.optimiser.config.rate, kept=kept
    )
