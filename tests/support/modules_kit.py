"""Comparison of modules."""

from __future__ import annotations

import torch
from torch import nn


def same(one: nn.Module, other: nn.Module) -> bool:
    """Whether two modules have the same saved tensors, to the bit."""
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[n], second[n]) for n in first)
