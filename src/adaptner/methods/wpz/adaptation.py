"""WPZ on a target: episodes of the target's sentences, then the class means of all of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor

from adaptner.adaptation.loop import AdaptationObjective
from adaptner.adaptation.sentence_batches import SentenceBatches
from adaptner.nn.batching.batch import Batch
from adaptner.nn.decoders.prototypes import (
    PrototypeDecoder,
    class_means,
    class_sums,
    prototype_scores,
    token_losses,
)
from adaptner.training.budget import Budget

ENCODING_BATCH = 64  # sentences; a target may have thousands


class PrototypeEpisodes(AdaptationObjective):
    """The loss of one half of a batch, classified by the class means of the other half.

    A single sentence cannot be halved, so no step is taken and its means are used as they are."""

    decoder: PrototypeDecoder

    def build(self) -> None:
        self.encoder = copy.deepcopy(self.base.model.encoder)
        base_decoder = self.base.model.decoder_of(0)
        assert isinstance(base_decoder, PrototypeDecoder)
        self.decoder = PrototypeDecoder(self.encoder.width, self.target.labels, self.generator)
        self.decoder.to(self.encoder.device)
        self.decoder.outside = copy.deepcopy(base_decoder.outside)
        self.batches = SentenceBatches(self.target.sentences, max(2, self.config.batch), self.rng)

    def stages(self, budget: Budget) -> Iterator[Budget]:
        if len(self.target.sentences) > 1:
            yield budget

    def loss(self) -> Tensor:
        sentences = self.batches.next()
        half = len(sentences) // 2
        support, query = (
            self.batcher([part], [self.target.labels]).to(self.encoder.device)
            for part in (sentences[:half], sentences[half:])
        )
        return episode_loss(
            self.encoder(support, self.generator),
            support,
            self.encoder(query, self.generator),
            query,
            self.decoder.outside,
            len(self.target.labels.tags),
        ).mean()

    def finish(self, steps: int) -> None:
        self.decoder.set_means(*self.target_means())

    @torch.no_grad()
    def target_means(self) -> tuple[Tensor, Tensor]:
        """The mean state of every tag over all sentences, and which tags occur."""
        sentences, labels = self.target.sentences, self.target.labels
        classes = len(labels.tags)
        sums = self.decoder.outside.new_zeros(1, classes, self.encoder.width)
        counts = sums.new_zeros(1, classes)
        for start in range(0, len(sentences), ENCODING_BATCH):
            batch = self.batcher([sentences[start : start + ENCODING_BATCH]], [labels])
            batch = batch.to(self.encoder.device)
            assert batch.tags is not None
            batch_sums, batch_counts = class_sums(
                self.encoder(batch), batch.tags, batch.mask, classes
            )
            sums, counts = sums + batch_sums, counts + batch_counts
        return class_means(sums, counts)


def episode_loss(
    support_states: Tensor,
    support: Batch,
    query_states: Tensor,
    query: Batch,
    outside: Tensor,
    classes: int,
) -> Tensor:
    """The loss of each task's query under the class means of its support, (tasks,), averaged over the
    query's sentences."""
    assert support.tags is not None
    assert query.tags is not None
    means, occurs = class_means(*class_sums(support_states, support.tags, support.mask, classes))
    scores = prototype_scores(query_states, means, occurs, outside)
    return token_losses(scores, query.tags, query.mask, occurs).mean(1)
