"""Token marginals of a CRF as a function that learning can go through.

``CRF.marginals`` are the same numbers as a gradient: quicker, but constants. Here they come from both
recursions, in logarithms, so that what is all but impossible still has a slope.
"""

from __future__ import annotations

import torch
from torch import Tensor


def log_marginals(
    emissions: Tensor, moves: Tensor, start: Tensor, end: Tensor, mask: Tensor
) -> Tensor:
    """(G, B, L, T); beyond a sentence's end they mean nothing."""
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
