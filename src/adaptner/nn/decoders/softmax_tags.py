"""A linear layer and a softmax over the tags of each token (HGDA's appendix: the decoder of HGDA*)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from adaptner.nn.decoders.crf import TagConstraints
from adaptner.nn.decoders.token_tags import TokenwiseDecoder
from adaptner.nn.rnn.parameters import fan_in_parameter
from adaptner.types import LabelSet


class SoftmaxDecoder(TokenwiseDecoder):
    kind: ClassVar[Literal["softmax"]] = "softmax"

    def __init__(self, width: int, labels: LabelSet, generator: Generator) -> None:
        super().__init__()
        tags = len(labels.tags)
        self.labels = labels
        self.weight = fan_in_parameter((1, tags, width), width, generator)
        self.bias = fan_in_parameter((1, tags), width, generator)

    def forward(
        self, states: Tensor, tags: Tensor, mask: Tensor, constraints: TagConstraints | None = None
    ) -> Tensor:
        """Negative log-likelihood of each sentence, summed over its tokens: (G, B)."""
        scores = self.tag_scores(states)
        if constraints is not None:  # forbids the tags that a task lacks and another one has
            scores = scores + constraints.surplus[:, None, None].to(scores)
        log_probabilities = F.log_softmax(scores, -1).gather(3, tags[..., None])[..., 0]
        return -(log_probabilities * mask).sum(2)

    def tag_scores(self, states: Tensor) -> Tensor:
        flat = torch.baddbmm(self.bias[:, None], states.flatten(1, 2), self.weight.mT)
        return flat.view(*states.shape[:3], -1)
