"""The training loop of all methods: budget, schedule, divergence, metrics files, checkpoints."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import torch

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
    """Results of an iteration: the loss, numbers for the metrics file, a remark for the progress bar and,
    in iterations that record them, the tasks with their hardness."""

    loss: float
    metrics: dict[str, float] = field(default_factory=dict)
    remark: str = ""
    tasks: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class TrainingRun:
    """Folder, checkpoints and progress of a run. Without a folder nothing is written."""

    folder: Path | None = None
    fingerprint: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False
    checkpoint_seconds: float = 60.0
    progress: ProgressCallback = no_progress
    device: torch.device | None = None  # of a new model; None: that of its start, or the CPU


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
    if run.folder is not None:
        run.folder.mkdir(parents=True, exist_ok=True)
        if not run.resume:  # that of an older run, whose records are removed below
            (run.folder / CHECKPOINT_FILE).unlink(missing_ok=True)
        with atomic_file(run.folder / CONFIG) as file:
            json.dump(run.settings, file, indent=1, ensure_ascii=False)
    saved = time.monotonic()
    diverged = ""
    with ExitStack() as files:  # closed after Ctrl-C too
        records = []
        if run.folder is not None:
            for name in (METRICS, HARDNESS):
                record = MetricsFile(run.folder / name, state.done)
                records.append(files.enter_context(closing(record)))
        while state.done < budget.steps and not _late(clock, budget):
            iteration = state.done + 1
            step = iterate(iteration)
            if not math.isfinite(step.loss):
                diverged = str(step.loss)
                break
            norm = state.optimiser.step(clock.share_spent(budget, state.done))
            if not math.isfinite(norm):
                diverged = f"{step.loss} with a gradient of {norm}"
                break
            state.done, state.seconds = iteration, clock.seconds()
            if records:
                records[0].add(iteration=iteration, loss=step.loss, **step.metrics)
                for task in step.tasks or ():
                    records[1].add(iteration=iteration, **task)
            run.progress(iteration, budget.steps, step.remark)
            if run.folder is not None and time.monotonic() - saved >= run.checkpoint_seconds:
                for record in records:
                    record.flush()
                save_checkpoint(state, run.folder, run.fingerprint)
                saved = time.monotonic()
            if is_finished(iteration):
                break
    if diverged:
        _stop(state, run, diverged)
    if run.folder is not None:
        save_checkpoint(state, run.folder, run.fingerprint)
    return state


def _late(clock: Clock, budget: Budget) -> bool:
    return budget.seconds is not None and clock.seconds() >= budget.seconds


def _stop(state: TrainingState, run: TrainingRun, loss: str) -> NoReturn:
    """Raise ``TrainingDiverged``. The parameters are those before the diverged iteration; they are saved if
    they are finite, otherwise the last checkpoint is kept."""
    kept = "nothing had been written"
    if run.folder is not None:
        if all(bool(p.isfinite().all()) for p in state.model.parameters()):
            save_checkpoint(state, run.folder, run.fingerprint)
        if (run.folder / CHECKPOINT_FILE).exists():
            kept = f"the last good parameters are kept in {run.folder / CHECKPOINT_FILE}"
    raise TrainingDiverged(
        loss=loss, iteration=state.done + 1, rates=state.optimiser.config.rate, kept=kept
    )
