"""Gradients of hand-written autograd functions that can be differentiated again."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def differentiable_gradients(
    plain: Tensor, inputs: Sequence[Tensor], needed: Sequence[bool], grad: Tensor
) -> tuple[Tensor | None, ...]:
    """Differentiable gradients with respect to ``inputs``; None for each input that is not ``needed``.

    ``plain`` is the value of the function, computed from ``inputs`` by ordinary operations."""
    trained = [t for t, n in zip(inputs, needed, strict=True) if n]
    # materialized: recurrent weights have no part in sequences of one step
    gradients = iter(
        torch.autograd.grad(plain, trained, grad, create_graph=True, materialize_grads=True)
    )
    return tuple(next(gradients) if n else None for n in needed)
