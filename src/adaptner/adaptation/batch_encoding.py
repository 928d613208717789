"""Encoding several lists of sentences in one pass of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from adaptner.nn.batching.batch import Batch, Batcher
from adaptner.nn.heads.pooling import sentence_means
from adaptner.types import LabelSet, Sentence

EncodeFunction = Callable[[Batch, Generator | None], Tensor]  # an encoder or a function like it


@dataclass(frozen=True)
class EncodedBatch:
    """The states of a list of sentences, in the list's order, with a task dimension of 1."""

    states: Tensor  # (1, sentences, tokens, width)
    mask: Tensor  # (1, sentences, tokens)
    tags: Tensor  # (1, sentences, tokens)

    @property
    def pooled(self) -> Tensor:
        """The mean of each sentence's token states, (sentences, width). It stands for BERT's CLS."""
        return sentence_means(self.states, self.mask)[0]

    @property
    def tokens(self) -> Tensor:
        """The states of all tokens without padding, (tokens, width)."""
        return self.states[self.mask]

    @property
    def token_tags(self) -> Tensor:
        return self.tags[self.mask]

    def loss(self, decoder: nn.Module) -> Tensor:
        """The decoder's loss, averaged over the sentences."""
        losses: Tensor = decoder(self.states, self.tags, self.mask)
        return losses.mean()


def encode_lists(
    encoder: EncodeFunction,
    batcher: Batcher,
    labels: LabelSet,
    lists: Sequence[Sequence[Sentence]],
    device: torch.device,
    noise: Generator | None = None,
) -> list[EncodedBatch]:
    """An encoded batch for each list, none of which may be empty."""
    batch = batcher([[s for sentences in lists for s in sentences]], [labels]).to(device)
    assert batch.tags is not None
    original = torch.tensor(batch.order[0]).argsort()  # undoes the batcher's sorting
    states, mask, tags = (
        values[:, original] for values in (encoder(batch, noise), batch.mask, batch.tags)
    )
    parts, start = [], 0
    for sentences in lists:
        rows, length = slice(start, start + len(sentences)), max(map(len, sentences))
        parts.append(
            EncodedBatch(states[:, rows, :length], mask[:, rows, :length], tags[:, rows, :length])
        )
        start += len(sentences)
    return parts
