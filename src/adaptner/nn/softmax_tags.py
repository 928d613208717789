"""A fully connected layer over the states, and a softmax over each token's tags (HGDA's appendix: what
HGDA* has in place of a CRF)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.nn.certainty import independent
from adaptner.nn.crf import Limits
from adaptner.nn.parameters import fan_in
from adaptner.types import LabelSet


class SoftmaxTags(nn.Module):
    """φ. Tokens are tagged on their own: any path can come out, and is read as conlleval does."""

    kind: ClassVar[Literal["softmax"]] = "softmax"

    def __init__(self, width: int, labels: LabelSet, generator: Generator) -> None:
        super().__init__()
        tags = len(labels.tags)
        self.labels = labels
        self.weight = fan_in((1, tags, width), width, generator)
        self.bias = fan_in((1, tags), width, generator)

    def forward(
        self, states: Tensor, tags: Tensor, mask: Tensor, limits: Limits | None = None
    ) -> Tensor:
        """Negative log-likelihood of each sentence, summed over its tokens: (G, B)."""
        scores = self.tag_scores(states)
        if limits is not None:  # a task with fewer tags than another has no use for the surplus
            scores = scores + limits.surplus[:, None, None].to(scores.dtype)
        chosen = F.log_softmax(scores, -1).gather(3, tags[..., None])[..., 0]
        return -(chosen * mask).sum(2)

    def tag_scores(self, states: Tensor) -> Tensor:
        flat = torch.baddbmm(self.bias[:, None], states.flatten(1, 2), self.weight.mT)
        return flat.view(*states.shape[:3], -1)

    @torch.no_grad()
    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """Best tags (G, B, L); what stands beyond a sentence's end means nothing."""
        return self.best(self.tag_scores(states), mask)

    @torch.no_grad()
    def best(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.argmax(-1)

    @torch.no_grad()
    def marginals(self, states: Tensor, mask: Tensor) -> Tensor:
        """P(tag at token | sentence), (G, B, L, T)."""
        return self.tag_scores(states).softmax(-1)

    @torch.no_grad()
    def sure(self, scores: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        """How sure each token of ``tags`` is (``nn/certainty.py``), of what ``tag_scores`` gives."""
        return independent(scores.softmax(-1), tags, mask, self.labels)
