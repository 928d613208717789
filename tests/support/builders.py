"""Sentences and random tensors in one line, and a comparison of models."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from adaptner.types import Sentence


def sentence(text: str, tags: str = "") -> Sentence:
    """Tokens and tags are separated by spaces."""
    return Sentence.from_tokens(text.split(), tags.split() or None)


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def equal_parameters(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.equal(p, q) for p, q in pairs)
