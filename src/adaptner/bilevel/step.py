"""One outer iteration over a batch of tasks (HGDA Algorithm 1, lines 3 to 12, without the update)."""

from __future__ import annotations

from dataclasses import dataclass

from adaptner.bilevel.inner import InnerLoop, LossFunction
from adaptner.bilevel.outer import OuterGradient
from adaptner.bilevel.weighting import TaskWeighting, Weights
from adaptner.nn.model import Losses, Parameters


@dataclass(frozen=True)
class Step:
    """Query losses (G,), the stacked gradients of the tasks, and the weight Γ of each task by group."""

    losses: Losses
    gradients: Parameters
    weights: Weights


def bilevel_step(
    support: LossFunction,
    query: LossFunction,
    start: Parameters,
    inner: InnerLoop,
    outer: OuterGradient,
    weighting: TaskWeighting,
) -> Step:
    losses, gradients = outer(inner, support, query, start)
    return Step(losses, gradients, weighting(losses))
