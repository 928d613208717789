"""Prototypical token classifier (WPZ; Fritzler et al. 2019): nearest class mean, and a bias for O.

Words outside mentions have nothing in common, so O has no mean. Its score is a learned number; that of
every other class is the negative squared distance to its mean.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.decoders.crf import FORBIDDEN, TagConstraints
from adaptner.nn.decoders.token_tags import TokenwiseDecoder
from adaptner.types import LabelSet

OUTSIDE_ID = 0  # the tag id of O in every label set


class PrototypeDecoder(TokenwiseDecoder):
    """``outside`` is trained; ``set_means`` sets the class means, computed from labelled sentences."""

    kind: ClassVar[Literal["prototypes"]] = "prototypes"
    means: Tensor
    seen: Tensor

    def __init__(self, width: int, labels: LabelSet, generator: Generator) -> None:
        super().__init__()
        self.labels = labels
        self.outside = nn.Parameter(torch.zeros(1))
        self.register_buffer("means", torch.zeros(1, len(labels.tags), width))
        self.register_buffer("seen", torch.zeros(1, len(labels.tags), dtype=torch.bool))

    def set_means(self, means: Tensor, seen: Tensor) -> None:
        self.means, self.seen = means.detach(), seen

    def forward(
        self, states: Tensor, tags: Tensor, mask: Tensor, constraints: TagConstraints | None = None
    ) -> Tensor:
        """Negative log-likelihood of each sentence, summed over its tokens: (G, B)."""
        return token_losses(self.tag_scores(states), tags, mask, self.seen)

    def tag_scores(self, states: Tensor) -> Tensor:
        return prototype_scores(states, self.means, self.seen, self.outside)


def class_sums(states: Tensor, tags: Tensor, mask: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Sums (G, T, H) of the token states of each class, and the numbers (G, T) of these tokens."""
    member = torch.nn.functional.one_hot(tags, classes) * mask[..., None]  # (G, B, L, T)
    flat = member.flatten(1, 2).to(states.dtype)
    return flat.mT @ states.flatten(1, 2), flat.sum(1)


def class_means(sums: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Means of the classes, and a mask of the classes that have one; O has none."""
    seen = counts > 0
    seen[:, OUTSIDE_ID] = False
    return sums / counts.clamp(min=1)[..., None], seen


def prototype_scores(states: Tensor, means: Tensor, seen: Tensor, outside: Tensor) -> Tensor:
    """Scores (G, B, L, T): the negative squared distance to each class mean, and ``outside`` for O.
    Classes without a mean are forbidden."""
    flat = states.flatten(1, 2)
    squares = flat.square().sum(-1, keepdim=True) + means.square().sum(-1)[:, None]
    distances = squares - 2 * flat @ means.mT
    scores = (-distances).masked_fill(~seen[:, None], FORBIDDEN)
    first = outside.view(-1, 1, 1).expand(len(flat), flat.shape[1], 1)
    return torch.cat([first, scores[..., 1:]], -1).view(*states.shape[:3], -1)


def token_losses(scores: Tensor, tags: Tensor, mask: Tensor, seen: Tensor) -> Tensor:
    """(G, B): cross-entropy summed over the tokens whose class is not forbidden."""
    possible = seen.expand(len(tags), -1).gather(1, tags.flatten(1)).view_as(tags)
    counted = mask & (possible | (tags == OUTSIDE_ID))
    losses = scores.logsumexp(-1) - scores.gather(-1, tags[..., None])[..., 0]
    return torch.where(counted, losses, 0.0).sum(2)
