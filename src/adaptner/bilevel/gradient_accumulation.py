"""The weighted sum of task gradients (HGDA Algorithm 1, lines 10 to 12) when tasks run in several parts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from adaptner.bilevel.step import Step
from adaptner.bilevel.weighting import TaskWeighting, Weights
from adaptner.nn.model import Losses, TaggingModel


class GradientAccumulator:
    """Accumulates task gradients in ``.grad``, so that only one copy of the encoder's gradients is in memory.

    A weight is a task's share of a sum over the batch. Another part of the batch therefore reduces the
    weights of all earlier tasks by one factor, by which the accumulated gradients are scaled."""

    def __init__(self, model: TaggingModel, weighting: TaskWeighting) -> None:
        self._model, self._weighting = model, weighting
        self._sum: Step | None = None

    def add(self, domains: Sequence[int], part: Step, rows: Tensor | None = None) -> None:
        """Add the gradients of ``part``, whose weights are shares among its own tasks."""
        before, losses, shares = 0, part.losses, part.weights
        if self._sum is not None:
            before = len(self._sum.losses.total)
            losses = _joined(self._sum.losses, part.losses)
            shares = self._weighting(losses)
            self._model.scale_gradients({g: float(w[:before].sum()) for g, w in shares.items()})
        self._sum = Step(losses, {}, shares)
        weights: Weights = {g: w[before:] for g, w in shares.items()}
        self._model.add_gradients(domains, part.gradients, weights, rows)

    def step(self) -> Step:
        """Losses and weights of all tasks; their gradients are in the model."""
        assert self._sum is not None
        return self._sum


def _joined(first: Losses, second: Losses) -> Losses:
    aux = None
    if first.aux is not None and second.aux is not None:
        aux = torch.cat([first.aux, second.aux])
    label, total = (first.label, second.label), (first.total, second.total)
    return Losses(torch.cat(label), aux, torch.cat(total))
