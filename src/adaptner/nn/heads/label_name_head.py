"""Auxiliary head for label names: which names apply to the mention at a token, and where it begins.

A base stores the trained head as ``LabelProbes``; the decoder for a label of such a name starts from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.heads.label_probes import LabelProbes
from adaptner.nn.rnn.parameters import fan_in_parameter

_INITIAL_LOG_ODDS = -6.0  # of every name


@dataclass(frozen=True)
class WeakLabels:
    """Labels of N tokens: borders of mentions, and P pairs of a token and a name with the probability
    that the name applies to the token; it is 0 for all other pairs."""

    borders: Tensor  # (N,) BORDER_OUTSIDE, BORDER_BEGIN or BORDER_INSIDE
    tokens: Tensor  # (P,)
    names: Tensor  # (P,)
    shares: Tensor  # (P,) the probabilities


class LabelNameHead(nn.Module):
    """Linear in the states, so that its weights can initialise a linear decoder."""

    def __init__(self, width: int, names: int, generator: Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(names, width))
        self.bias = nn.Parameter(torch.full((names,), _INITIAL_LOG_ODDS))
        self.border_weight = fan_in_parameter((3, width), width, generator)
        self.border_bias = fan_in_parameter((3,), width, generator)

    def forward(self, states: Tensor, labels: WeakLabels, noise: Generator) -> Tensor:
        """Mean cross-entropy of the borders plus that of the names, summed over names.

        ``states`` (N, width). Names are scored for all tokens inside mentions and for a random sample
        of equal size of the tokens outside, weighted to stand for all of them: most tokens are
        outside, and scoring all names at each would cost too much."""
        border_scores = F.linear(states, self.border_weight, self.border_bias)
        borders = F.cross_entropy(border_scores, labels.borders)
        inside = labels.borders > 0
        count, others = int(inside.sum()), int((~inside).sum())
        if not count:
            return borders
        sampled = min(count, others)
        drawn = torch.randperm(others, generator=noise, device=noise.device)[:sampled]
        rows = torch.cat(
            [inside.nonzero()[:, 0], (~inside).nonzero()[:, 0][drawn.to(states.device)]]
        )
        row_of_token = torch.full((len(states),), -1, device=states.device)
        row_of_token[rows] = torch.arange(len(rows), device=states.device)
        scores = F.linear(states[rows], self.weight, self.bias)
        targets = torch.zeros_like(scores)
        targets[row_of_token[labels.tokens], labels.names] = labels.shares
        losses = F.binary_cross_entropy_with_logits(scores, targets, reduction="none").sum(1)
        weights = losses.new_ones(len(rows))
        weights[count:] = others / max(sampled, 1)
        return borders + (losses * weights).sum() / weights.sum()

    def label_probes(self, names: Sequence[str]) -> LabelProbes:
        """The trained weights, rounded to half precision as they are saved."""
        tensors = (self.weight, self.bias, self.border_weight, self.border_bias)
        return LabelProbes(tuple(names), *(t.detach().cpu().half().float() for t in tensors))
