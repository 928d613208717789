"""Contrastive learning of sentences (PDALN 4.2.1): alike to their distorted selves, unlike others."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.rnn.parameters import fan_in_bound


class Contrast(nn.Module):
    """z = W' h, as wide as h."""

    def __init__(self, width: int, generator: Generator) -> None:
        super().__init__()
        self.weight = fan_in_bound((width, width), width, generator)

    def forward(
        self, plain: Tensor, distorted: Tensor, temperature: float, unit: bool = True
    ) -> Tensor:
        """Eq. 7 of (N, width) sentence states and those of their distorted copies, in that order.
        ``unit``: z is brought to length 1."""
        z, bar = plain @ self.weight, distorted @ self.weight
        if unit:
            z, bar = F.normalize(z, dim=-1), F.normalize(bar, dim=-1)
        return contrastive_loss(z, bar, temperature)


def contrastive_loss(z: Tensor, bar: Tensor, temperature: float) -> Tensor:
    """Eq. 7, read as -log exp(z·z̄/τ) / Σ exp(z·z_i/τ), averaged over the N sentences. The sum is over
    z̄ and all other sentences and their distorted copies."""
    every = torch.cat([bar, z])
    scores = z @ every.T / temperature
    own = torch.arange(len(z))
    scores = scores.index_put((own, len(z) + own), scores.new_tensor(-torch.inf))  # z itself
    return F.cross_entropy(scores, own)
