"""A linear layer with the weights of each task."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

# Multiplications of a product from which oneDNN is worth the conversion of the matrices.
_LARGE = 1_000_000


def project(symbols: Tensor, weight: Tensor, bias: Tensor, frozen: int = 0) -> Tensor:
    """W x + b of each symbol, (G, S, R), for ``symbols`` (G, S, D), ``weight`` (G, R, D), ``bias`` (G, R).

    The first ``frozen`` numbers of a symbol need no gradient: it is not computed, and returned as zero."""
    return _Projection.apply(symbols, weight, bias, frozen)


class _Projection(torch.autograd.Function):
    # Not baddbmm: its gradient of the weight is transposed, and adding that to the weight takes 2.6 ms
    # instead of 0.3.

    @staticmethod
    def forward(ctx: Any, symbols: Tensor, weight: Tensor, bias: Tensor, frozen: int) -> Tensor:
        ctx.save_for_backward(symbols, weight)
        ctx.frozen = frozen
        return _products(symbols, weight).add_(bias[:, None])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        symbols, weight = ctx.saved_tensors
        by_symbols = by_weight = None
        if ctx.needs_input_grad[0]:
            by_trained = torch.bmm(grad, weight[:, :, ctx.frozen :])
            by_symbols = F.pad(by_trained, (ctx.frozen, 0))
        if ctx.needs_input_grad[1]:
            by_weight = _products(grad.mT, symbols.mT)
        return by_symbols, by_weight, grad.sum(1), None


def _products(left: Tensor, right: Tensor) -> Tensor:
    """``left`` (G, N, K) times the transpose of ``right`` (G, M, K).

    Large products are oneDNN's: on an AMD EPYC they took 2.8 and 3.8 ms (forward, gradient of the weight)
    where those of bmm, which calls MKL, took 4.8 and 5.2."""
    tasks, rows, inner = left.shape
    if (
        rows * inner * right.shape[1] < _LARGE
        or left.dtype != torch.float32
        or left.device.type != "cpu"
        or torch.is_grad_enabled()  # the gradient will be differentiated
        or not torch.backends.mkldnn.is_available()
    ):
        return torch.bmm(left, right.mT)
    if right.stride(0) == 0:  # the same weights for all tasks
        return _product(left.flatten(0, 1), right[0]).view(tasks, rows, -1)
    return torch.stack([_product(a, b) for a, b in zip(left, right, strict=True)])


def _product(left: Tensor, right: Tensor) -> Tensor:
    return F.linear(left.to_mkldnn(), right.to_mkldnn()).to_dense()
