"""Gradient reversal: the identity whose gradient is multiplied by -scale (Ganin and Lempitsky 2015)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return -ctx.scale * grad, None


def reverse_gradient(values: Tensor, scale: float = 1.0) -> Tensor:
    return _Reverse.apply(values, scale)
