"""ω that learns names from weak labels: which names a token's thing has, and where it begins.

What it has learnt is kept with a base (``nn/heads/label_probes.py``): φ of a label of that name starts there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.heads.label_probes import LabelProbes
from adaptner.nn.rnn.parameters import fan_in_parameter

BORDER_OUTSIDE, BORDER_BEGIN, BORDER_INSIDE = range(3)
_RARE = -6.0  # log odds of a name before anything is learnt


@dataclass(frozen=True)
class WeakLabels:
    """Of N tokens: where a thing begins (1), goes on (2), or is none (0); and for pairs of a token
    and a name how sure it is that the one is called by the other. All other pairs are 0."""

    borders: Tensor  # (N,)
    tokens: Tensor  # (P,) of a pair
    names: Tensor  # (P,)
    shares: Tensor  # (P,)


class LabelNameHead(nn.Module):
    """Linear over states, so that what it knows can become a row of a linear φ."""

    def __init__(self, width: int, names: int, generator: Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(names, width))
        self.bias = nn.Parameter(torch.full((names,), _RARE))
        self.border_weight = fan_in_parameter((3, width), width, generator)
        self.border_bias = fan_in_parameter((3,), width, generator)

    def forward(self, states: Tensor, labels: WeakLabels, noise: Generator) -> Tensor:
        """Cross-entropy of borders, mean over tokens, and of names, summed over names. ``states``
        (N, width). Of the tokens outside, as many as there are inside stand for all: a name costs
        as much as a token, and most tokens have none."""
        borders = F.cross_entropy(
            F.linear(states, self.border_weight, self.border_bias), labels.borders
        )
        inside = labels.borders > 0
        count, others = int(inside.sum()), int((~inside).sum())
        if not count:
            return borders
        kept = min(count, others)
        chosen = torch.randperm(others, generator=noise, device=noise.device)[:kept].to(
            states.device
        )
        rows = torch.cat([inside.nonzero()[:, 0], (~inside).nonzero()[:, 0][chosen]])
        place = torch.full((len(states),), -1, device=states.device)
        place[rows] = torch.arange(len(rows), device=states.device)
        scores = F.linear(states[rows], self.weight, self.bias)
        wanted = torch.zeros_like(scores)
        wanted[place[labels.tokens], labels.names] = labels.shares
        costs = F.binary_cross_entropy_with_logits(scores, wanted, reduction="none").sum(1)
        stands_for = costs.new_ones(len(rows))
        stands_for[count:] = others / max(kept, 1)
        return borders + (costs * stands_for).sum() / stands_for.sum()

    def label_probes(self, names: Sequence[str]) -> LabelProbes:
        told = (self.weight, self.bias, self.border_weight, self.border_bias)
        return LabelProbes(tuple(names), *(t.detach().half().float() for t in told))
