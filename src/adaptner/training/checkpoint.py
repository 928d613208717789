"""Checkpoints: a training state in one safetensors file, from which a run resumes with identical results.

The tensors are parameters, optimiser state and the state of the noise generator. The metadata hold the
counters and the state of the task sampler's generator as JSON, not as a pickle.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Generator, Tensor, nn

from adaptner.errors import RunNotResumable
from adaptner.files import atomic_file
from adaptner.training.optimiser import Optimiser

CHECKPOINT_FILE = "checkpoint.safetensors"


@dataclass
class TrainingState:
    """Everything that a training loop changes."""

    model: nn.Module
    optimiser: Optimiser
    rng: random.Random  # task sampling
    noise: Generator  # dropout
    done: int = 0  # iterations
    seconds: float = 0.0


def save_checkpoint(state: TrainingState, folder: Path, fingerprint: str) -> None:
    """Write a checkpoint. ``fingerprint`` identifies configuration and data: a run resumes only if it is
    the same."""
    tensors = {f"model.{n}": p.detach() for n, p in state.model.named_parameters()}
    tensors |= {f"optimiser.{n}": t for n, t in state.optimiser.state().items()}
    tensors["noise"] = state.noise.get_state()
    version, numbers, gauss = state.rng.getstate()
    facts = {
        "done": state.done,
        "seconds": state.seconds,
        "fingerprint": fingerprint,
        "rng": [version, list(numbers), gauss],
    }
    contiguous = {n: t.contiguous() for n, t in tensors.items()}
    with atomic_file(folder / CHECKPOINT_FILE, "wb") as file:
        file.write(save(contiguous, metadata={"state": json.dumps(facts)}))


def restore_checkpoint(state: TrainingState, folder: Path, fingerprint: str) -> None:
    path = folder / CHECKPOINT_FILE
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {})["state"])
            tensors = {n: file.get_tensor(n) for n in file.keys()}  # noqa: SIM118
        if facts["fingerprint"] != fingerprint:
            raise RunNotResumable(
                file=path, reason="configuration or sources differ from the first run"
            )
        if len(tensors["noise"]) != len(state.noise.get_state()):
            raise RunNotResumable(file=path, reason="the first run used another kind of device")
        _restore(state, facts, tensors)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, RuntimeError) as error:
        reason = f"the checkpoint is damaged ({type(error).__name__}: {error})"
        raise RunNotResumable(file=path, reason=reason) from error


def _restore(state: TrainingState, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, p in state.model.named_parameters():
            p.copy_(tensors[f"model.{name}"])
    prefix = "optimiser."
    state.optimiser.restore(
        {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    )
    state.noise.set_state(tensors["noise"])
    version, numbers, gauss = facts["rng"]
    state.rng.setstate((version, tuple(numbers), gauss))
    state.done, state.seconds = facts["done"], facts["seconds"]
