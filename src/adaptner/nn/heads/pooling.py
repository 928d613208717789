"""One vector per sentence."""

from __future__ import annotations

from torch import Tensor


def sentence_means(states: Tensor, mask: Tensor) -> Tensor:
    """The mean token state (..., width) of each sentence; ``states`` (..., L, width)."""
    return (states * mask[..., None]).sum(-2) / mask.sum(-1, keepdim=True)
