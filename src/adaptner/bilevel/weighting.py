"""Weights of the tasks of a batch in the outer update (HGDA eq. 2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from adaptner.nn.model import Losses, ParameterGroup

Weights = dict[ParameterGroup, Tensor]  # (G,) each, summing to one
TaskWeighting = Callable[[Losses], Weights]


def equal_weights(losses: Losses) -> Weights:
    """Weight 1/m for every task and group."""
    equal = torch.full_like(losses.total.detach(), 1 / len(losses.total))
    return {"encoder": equal, "decoder": equal, "head": equal}


def hardness_weights(losses: Losses) -> Weights:
    """Eq. 2: each task's share of the query loss of the batch: the total loss for the encoder, the
    labelling loss for the decoder, the classification loss for the head. Not differentiated."""
    aux = losses.label if losses.aux is None else losses.aux
    return {"encoder": _share(losses.total), "decoder": _share(losses.label), "head": _share(aux)}


def _share(losses: Tensor) -> Tensor:
    values = losses.detach()
    total = values.sum()
    if not torch.isfinite(total) or total <= 0:
        warnings.warn(
            "task losses are all zero or not finite: tasks are weighted equally",
            RuntimeWarning,
            stacklevel=3,
        )
        return torch.full_like(values, 1 / len(values))
    return values / total


TASK_WEIGHTINGS: dict[str, TaskWeighting] = {"uniform": equal_weights, "hardness": hardness_weights}
