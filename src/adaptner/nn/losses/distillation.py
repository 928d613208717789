"""What one tagger tells another: cross-entropy of token marginals (PDALN eq. 11)."""

from __future__ import annotations

import torch
from torch import Tensor


def distillation_loss(
    teacher: Tensor, student: Tensor, mask: Tensor, confidence: float = 0.0
) -> Tensor:
    """-Σ p_teacher log p_student over the tags, averaged over the tokens of ``mask``.

    ``teacher`` (..., T) are probabilities, ``student`` (..., T) their logarithms. Tokens of which the
    teacher's best tag has less than ``confidence`` do not count."""
    counted = mask & (teacher.amax(-1) >= confidence)
    # A tag that cannot be has log-probability -1e4 on both sides: 0 times that is 0, and it stays so.
    costs = -(teacher * student).sum(-1)
    return torch.where(counted, costs, 0.0).sum() / counted.sum().clamp(min=1)


def kl_divergence(first: Tensor, second: Tensor, mask: Tensor) -> Tensor:
    """KL(first || second) of log-probabilities (..., T), averaged over the tokens of ``mask``."""
    costs = (first.exp() * (first - second)).sum(-1)
    return torch.where(mask, costs, 0.0).sum() / mask.sum()
