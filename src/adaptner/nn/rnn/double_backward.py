"""The gradient of a hand-written function when it will itself be differentiated."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def differentiable_gradients(
    plain: Tensor, inputs: Sequence[Tensor], needed: Sequence[bool], grad: Tensor
) -> tuple[Tensor | None, ...]:
    """Gradients through ``plain``, the function's value by ordinary operations on its ``inputs``,
    which autograd can follow again; None for each input that is not ``needed`` (frozen)."""
    wanted = [t for t, n in zip(inputs, needed, strict=True) if n]
    # materialized: an input may play no part (recurrent weights in sequences of one step)
    found = iter(
        torch.autograd.grad(plain, wanted, grad, create_graph=True, materialize_grads=True)
    )
    return tuple(next(found) if n else None for n in needed)
