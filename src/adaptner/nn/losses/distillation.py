"""Losses between the token marginals of two taggers (PDALN eq. 11)."""

from __future__ import annotations

import torch
from torch import Tensor


def distillation_loss(
    teacher: Tensor, student: Tensor, mask: Tensor, confidence: float = 0.0
) -> Tensor:
    """-Σ p_teacher log p_student over the tags, averaged over the tokens of ``mask``.

    ``teacher`` (..., T) holds probabilities, ``student`` (..., T) log-probabilities. Tokens where the
    teacher's best tag is less probable than ``confidence`` are left out."""
    counted = mask & (teacher.amax(-1) >= confidence)
    # Forbidden tags have log-probability -1e4 and probability 0, so their product is 0, not NaN.
    losses = -(teacher * student).sum(-1)
    return torch.where(counted, losses, 0.0).sum() / counted.sum().clamp(min=1)


def kl_divergence(first: Tensor, second: Tensor, mask: Tensor) -> Tensor:
    """KL(first || second) of log-probabilities (..., T), averaged over the tokens of ``mask``."""
    divergences = (first.exp() * (first - second)).sum(-1)
    return torch.where(mask, divergences, 0.0).sum() / mask.sum()
