"""The weighted sum of the tasks' gradients (HGDA Algorithm 1, lines 10 to 12), however many tasks are
run at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from adaptner.bilevel.step import Step
from adaptner.bilevel.weighting import TaskWeighting, Weights
from adaptner.nn.model import Losses, Parameters, TaggingModel


class Gathered:
    """Adds up in the model's ``.grad``, so that a large θ's gradients are in memory once.

    A weight is a task's share of a sum over the batch, so those of earlier tasks all fall by one
    factor as another comes: what was added up is scaled by it."""

    def __init__(self, model: TaggingModel, weighting: TaskWeighting) -> None:
        self._model, self._weighting = model, weighting
        self._losses: list[Losses] = []

    def add(
        self,
        domains: Sequence[int],
        losses: Losses,
        gradients: Parameters,
        rows: Tensor | None = None,
    ) -> None:
        before = sum(len(known.total) for known in self._losses)
        self._losses.append(losses)
        weights = self._weights()
        if before:
            self._model.scale_gradients({g: float(w[:before].sum()) for g, w in weights.items()})
        newest: Weights = {g: w[before:] for g, w in weights.items()}
        self._model.add_gradients(domains, gradients, newest, rows)

    def step(self) -> Step:
        """All tasks together; their gradients are in the model."""
        return Step(self._every(), {}, self._weights())

    def _weights(self) -> Weights:
        return self._weighting(self._every())

    def _every(self) -> Losses:
        label = torch.cat([known.label for known in self._losses])
        total = torch.cat([known.total for known in self._losses])
        parts = [known.aux for known in self._losses if known.aux is not None]
        return Losses(label, torch.cat(parts) if parts else None, total)
