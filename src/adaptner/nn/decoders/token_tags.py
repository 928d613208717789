"""What decoders share that tag every token on its own, by scores of its tags."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from adaptner.compute import ready_for_double
from adaptner.nn.decoders.span_confidence import span_confidence
from adaptner.types import LabelSet


class TokenwiseDecoder(nn.Module, ABC):
    """Any path can come out, and is read as conlleval does."""

    labels: LabelSet

    @abstractmethod
    def tag_scores(self, states: Tensor) -> Tensor:
        """Of every tag at every token, (G, B, L, T)."""

    @torch.no_grad()
    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """Best tags (G, B, L); what stands beyond a sentence's end means nothing."""
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
        """How sure each token of ``tags`` is (``nn/decoders/span_confidence.py``), of what ``tag_scores`` gives: the
        tag of one tells nothing of the next one's."""
        scores, mask, tags = ready_for_double(scores, mask, tags)
        every = scores.softmax(-1).double()
        return span_confidence(every, every[:, :, 1:], tags, mask, self.labels)
