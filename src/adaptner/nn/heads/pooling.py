"""A sentence as one vector."""

from __future__ import annotations

from torch import Tensor


def sentence_means(states: Tensor, mask: Tensor) -> Tensor:
    """The mean of each sentence's token states: (..., L, width) and (..., L) to (..., width)."""
    return (states * mask[..., None]).sum(-2) / mask.sum(-1, keepdim=True)
