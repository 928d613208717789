"""Differentiable token marginals of a CRF.

``CRF.marginals`` is faster but not differentiable. The recursions run on logarithms, so that even very
improbable tags have a gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor


def log_marginals(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, mask: Tensor
) -> Tensor:
    """log P(tag at token), (G, B, L, T); undefined in the padding."""
    length = emissions.shape[2]
    forward = [start[:, None] + emissions[:, :, 0]]
    for t in range(1, length):
        moved = torch.logsumexp(forward[-1][..., None] + moves[:, None], -2) + emissions[:, :, t]
        forward.append(torch.where(mask[:, :, t, None], moved, forward[-1]))
    last = end[:, None].expand_as(forward[0])
    backward = [last]
    for t in range(length - 1, 0, -1):
        ahead = (backward[-1] + emissions[:, :, t])[:, :, None]
        moved = torch.logsumexp(moves[:, None] + ahead, -1)
        backward.append(torch.where(mask[:, :, t, None], moved, last))
    both = torch.stack(forward, 2) + torch.stack(backward[::-1], 2)
    return both - torch.logsumexp(both, -1, keepdim=True)
