"""MetaNER's equations 17 to 22 written out for one chain, without any reversal layer: where the
paper's text relies on one ("already operated with a gradient reversal layer"), the minus that it puts
before ∂/∂θ stands here by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from naive_tagger import Values, gradient, leaves
from torch import Tensor


@dataclass(frozen=True)
class Task:
    """L_tr(θ, φ) and, with an adversary, L_dis(θ, γ) of a task, with the φ0 and γ0 where they are computed."""

    label: Callable[[Values, Values], Tensor]
    phi: Values
    dis: Callable[[Values, Values], Tensor] | None = None
    gamma: Values | None = None


@dataclass(frozen=True)
class Found:
    """The two parts of eq. 19, and the gradients that eqs 20, 21 and 22 subtract (times β)."""

    label: float
    dis: float | None
    theta: Values
    phi: Values
    gamma: Values


def less(values: Values, rate: float, slopes: Values) -> Values:
    return {n: (v - rate * slopes[n]).detach() for n, v in values.items()}


def chain(
    training: Sequence[Task],
    validation: Task,
    theta0: Values,
    alpha: float,
    lam: float,
    new_only: bool = False,
    maml: bool = False,
) -> Found:
    old = new = theta0
    eq20 = {n: 0 * v for n, v in theta0.items()}
    for task in training:
        before = leaves(new)
        tr = gradient(task.label(before, task.phi), before)
        old = less(before, alpha, tr)  # eq. 17
        new = old
        eq20 = {n: v + tr[n] for n, v in eq20.items()}
        if task.dis is not None:
            dis = gradient(task.dis(before, task.gamma), before)
            new = less(old, -alpha * lam, dis)  # eq. 18: up the discriminator's loss
            eq20 = {n: v - lam * dis[n] for n, v in eq20.items()}  # eq. 20's own minus

    for_label, for_dis = leaves(new if new_only else old), leaves(new)
    phi = leaves(validation.phi)
    label = validation.label(for_label, phi)  # eq. 19, first part
    theta = gradient(label, for_label)
    eq21 = gradient(label, phi)
    dis_value, eq22 = None, {}
    if validation.dis is not None:
        gamma = leaves(validation.gamma)
        loss = validation.dis(for_dis, gamma)  # eq. 19, second part
        dis_value = float(loss.detach())
        eq22 = gradient(loss, gamma)
        reached = gradient(loss, for_dis)
        theta = {n: v - reached[n] for n, v in theta.items()}
    return Found(float(label.detach()), dis_value, theta if maml else eq20, eq21, eq22)
