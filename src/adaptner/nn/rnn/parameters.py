"""Initial parameters, dropout and noise, from generators that the caller passes in."""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor, nn


def uniform_parameter(shape: tuple[int, ...], bound: float, generator: Generator) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


def fan_in_parameter(shape: tuple[int, ...], fan: int, generator: Generator) -> nn.Parameter:
    """Uniform within 1 / sqrt(fan), PyTorch's default for linear and recurrent layers."""
    return uniform_parameter(shape, 1 / math.sqrt(fan), generator)


def dropout(values: Tensor, rate: float, noise: Generator | None) -> Tensor:
    """Inverted dropout with ``noise``; without it, ``values`` unchanged (evaluation)."""
    if noise is None or rate == 0:
        return values
    drawn = torch.rand(values.shape, generator=noise, dtype=values.dtype, device=noise.device)
    return values * (drawn >= rate).to(values.device) / (1 - rate)


def standard_normal(values: Tensor, noise: Generator) -> Tensor:
    """Standard normal noise of the shape of ``values`` and on its device."""
    drawn = torch.randn(values.shape, generator=noise, dtype=values.dtype, device=noise.device)
    return drawn.to(values.device)
