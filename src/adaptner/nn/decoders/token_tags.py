"""Base class of decoders that tag every token independently."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from adaptner.compute import ready_for_double
from adaptner.nn.decoders.span_confidence import span_confidence
from adaptner.types import LabelSet


class TokenwiseDecoder(nn.Module, ABC):
    """Any tag path can result; mentions are read from it as conlleval does."""

    labels: LabelSet

    @abstractmethod
    def tag_scores(self, states: Tensor) -> Tensor:
        """Scores (G, B, L, T)."""

    @torch.no_grad()
    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """Best tags (G, B, L); undefined in the padding."""
        return self.decode_scores(self.tag_scores(states), mask)

    @torch.no_grad()
    def decode_scores(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.argmax(-1)

    @torch.no_grad()
    def marginals(self, states: Tensor, mask: Tensor) -> Tensor:
        """P(tag at token | sentence), (G, B, L, T)."""
        return self.tag_scores(states).softmax(-1)

    @torch.no_grad()
    def path_confidence(self, scores: Tensor, mask: Tensor, tags: Tensor) -> Tensor:
        """The confidence of each token of the path ``tags``, given the result of ``tag_scores``, as in
        ``nn/decoders/span_confidence.py``; tags of neighbours are independent."""
        scores, mask, tags = ready_for_double(scores, mask, tags)
        marginals = scores.softmax(-1).double()
        return span_confidence(marginals, marginals[:, :, 1:], tags, mask, self.labels)
