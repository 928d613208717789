"""Several lists of sentences through one pass of an encoder, and apart again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.batching.batch import Batch, Batcher
from adaptner.nn.heads.pooling import sentence_means
from adaptner.types import LabelSet, Sentence

EncodeFunction = Callable[[Batch, Generator | None], Tensor]  # an encoder, or what stands for one


@dataclass(frozen=True)
class EncodedBatch:
    """What an encoder makes of one list: a task dimension of 1, then sentences in the list's order."""

    states: Tensor  # (1, B, L, width)
    mask: Tensor  # (1, B, L)
    tags: Tensor  # (1, B, L)

    @property
    def pooled(self) -> Tensor:
        """A vector a sentence, (B, width): the mean of its tokens' states stands for BERT's CLS."""
        return sentence_means(self.states, self.mask)[0]

    @property
    def tokens(self) -> Tensor:
        """(tokens, width)"""
        return self.states[self.mask]

    @property
    def token_tags(self) -> Tensor:
        return self.tags[self.mask]

    def loss(self, decoder: nn.Module) -> Tensor:
        """The decoder's, averaged over the sentences."""
        found: Tensor = decoder(self.states, self.tags, self.mask)
        return found.mean()


def encode_lists(
    encoder: EncodeFunction,
    batcher: Batcher,
    labels: LabelSet,
    lists: Sequence[Sequence[Sentence]],
    noise: Generator | None = None,
) -> list[EncodedBatch]:
    """A part for each list; none of them is empty."""
    batch = batcher([[s for own in lists for s in own]], [labels])
    assert batch.tags is not None
    back = torch.tensor(batch.order[0]).argsort()
    states, mask, tags = encoder(batch, noise)[:, back], batch.mask[:, back], batch.tags[:, back]
    parts, at = [], 0
    for own in lists:
        here, length = slice(at, at + len(own)), max(map(len, own))
        parts.append(
            EncodedBatch(states[:, here, :length], mask[:, here, :length], tags[:, here, :length])
        )
        at += len(own)
    return parts
