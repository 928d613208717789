"""Fresh parameters from a generator that the caller passes in, and dropout from another."""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor, nn


def uniform_parameter(shape: tuple[int, ...], bound: float, generator: Generator) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


def fan_in_parameter(shape: tuple[int, ...], fan: int, generator: Generator) -> nn.Parameter:
    """PyTorch's own default for linear and recurrent layers: uniform within 1/sqrt(fan)."""
    return uniform_parameter(shape, 1 / math.sqrt(fan), generator)


def dropout(values: Tensor, rate: float, noise: Generator | None) -> Tensor:
    """Inverted dropout; ``noise`` None means evaluation. There is no training mode to forget."""
    if noise is None or rate == 0:
        return values
    drawn = torch.rand(values.shape, generator=noise, dtype=values.dtype, device=noise.device)
    return values * (drawn >= rate).to(values.device) / (1 - rate)


def standard_normal(values: Tensor, noise: Generator) -> Tensor:
    """Gaussian noise of the shape of ``values``, drawn where ``noise`` is."""
    drawn = torch.randn(values.shape, generator=noise, dtype=values.dtype, device=noise.device)
    return drawn.to(values.device)
