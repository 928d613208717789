"""Steps over the millions of parameters of a transformer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import nn

from adaptner.training.optimiser import Optimiser, OptimiserConfig


class LargeOptimiser(Optimiser):
    """With PyTorch's fused kernels, which go through large parameters once (AdamW: 7 ms instead of 50)."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        config: OptimiserConfig,
        scale: Mapping[nn.Parameter, float] | None = None,
    ) -> None:
        super().__init__(parameters, config, scale, fused=True)

    def step(self, share_spent: float) -> float:
        # On a CPU these kernels (PyTorch 2.13) take numbers as they lie in memory: without a word, a
        # gradient that is a transposed view, as φ's is, would move the wrong numbers.
        for p in self.parameters:
            if p.grad is not None and p.grad.stride() != p.stride():
                p.grad = torch.empty_like(p).copy_(p.grad)
        return super().step(share_spent)
