"""The weighted sum of the tasks' gradients (HGDA Algorithm 1, lines 10 to 12), however many tasks are
run at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from adaptner.bilevel.step import Step
from adaptner.bilevel.weighting import TaskWeighting, Weights
from adaptner.nn.model import Losses, TaggingModel


class GradientAccumulator:
    """Adds up in the model's ``.grad``, so that a large θ's gradients are in memory once.

    A weight is a task's share of a sum over the batch, so those of earlier tasks all fall by one
    factor as another comes: what was added up is scaled by it."""

    def __init__(self, model: TaggingModel, weighting: TaskWeighting) -> None:
        self._model, self._weighting = model, weighting
        self._sum: Step | None = None

    def add(self, domains: Sequence[int], part: Step, rows: Tensor | None = None) -> None:
        """``part``: some tasks, weighted among themselves."""
        before, losses, every = 0, part.losses, part.weights
        if self._sum is not None:
            before = len(self._sum.losses.total)
            losses = _joined(self._sum.losses, part.losses)
            every = self._weighting(losses)
            self._model.scale_gradients({g: float(w[:before].sum()) for g, w in every.items()})
        self._sum = Step(losses, {}, every)
        weights: Weights = {g: w[before:] for g, w in every.items()}
        self._model.add_gradients(domains, part.gradients, weights, rows)

    def step(self) -> Step:
        """All tasks together; their gradients are in the model."""
        assert self._sum is not None
        return self._sum


def _joined(first: Losses, second: Losses) -> Losses:
    aux = None
    if first.aux is not None and second.aux is not None:
        aux = torch.cat([first.aux, second.aux])
    label, total = (first.label, second.label), (first.total, second.total)
    return Losses(torch.cat(label), aux, torch.cat(total))
