"""WPZ on a target: retrained by episodes of its sentences, then the class means of all of them."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from adaptner.adaptation.descent import SentenceBatches, take_steps
from adaptner.adaptation.fine_tune import FineTuneConfig, adaptation_facts, compute_gradients
from adaptner.adaptation.target import TargetData
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.batch import Batch, Batcher
from adaptner.nn.decoders.prototypes import (
    PrototypeDecoder,
    class_means,
    class_sums,
    prototype_scores,
    token_losses,
)
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary
from adaptner.nn.encoders.base import Encoder
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence


class PrototypeTuneConfig(FineTuneConfig):
    """There is no φ to start or freeze."""

    decoder: Literal["fresh"] = "fresh"
    freeze_decoder: Literal[False] = False


ENCODED_AT_ONCE = 64  # sentences; a target may have thousands


def adapt_prototypes(
    base: Base,
    sentences: Sequence[Sentence],
    config: FineTuneConfig,
    *,
    labels: LabelSet | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """A step draws a batch and classifies one half of it by the means of the other. One sentence
    cannot be halved: its means are taken as they are."""
    target = TargetData.of(base, sentences, labels)
    budget = budget or Budget(config.steps_for(len(target.sentences)))
    if len(target.sentences) < 2:
        budget = Budget(0)
    generator = torch.Generator().manual_seed(seed)
    encoder = copy.deepcopy(base.model.encoder)
    known = base.model.decoder_of(0)
    assert isinstance(known, PrototypeDecoder)
    decoder = PrototypeDecoder(encoder.width, target.labels, generator)
    decoder.outside = copy.deepcopy(known.outside)
    table = ActiveVocabulary(encoder, base.batcher, target.sentences)
    optimiser = config.optimiser_of(encoder, [decoder.outside])
    batches = SentenceBatches(target.sentences, max(2, config.batch), random.Random(seed))
    classes = len(target.labels.tags)

    def fill() -> float:
        drawn = batches.next()
        half = len(drawn) // 2
        support, query = (
            table.batcher([part], [target.labels]) for part in (drawn[:half], drawn[half:])
        )
        loss = episode_loss(
            encoder(support, generator),
            support,
            encoder(query, generator),
            query,
            decoder.outside,
            classes,
        ).mean()
        compute_gradients(loss, optimiser.parameters)
        return float(loss.detach())

    steps = take_steps(fill, optimiser, budget, progress)
    decoder.remember(*target_means(encoder, table.batcher, target))
    table.restore()
    facts = adaptation_facts(base, target, steps, seed)
    return Tagger(encoder, decoder, base.batcher, base.method, facts, base.folder)


def episode_loss(
    support_states: Tensor,
    support: Batch,
    query_states: Tensor,
    query: Batch,
    outside: Tensor,
    classes: int,
) -> Tensor:
    """(G,) what the support's class means cost on the query, averaged over its sentences."""
    assert support.tags is not None
    assert query.tags is not None
    means, seen = class_means(*class_sums(support_states, support.tags, support.mask, classes))
    scores = prototype_scores(query_states, means, seen, outside)
    return token_losses(scores, query.tags, query.mask, seen).mean(1)


@torch.no_grad()
def target_means(encoder: Encoder, batcher: Batcher, target: TargetData) -> tuple[Tensor, Tensor]:
    classes = len(target.labels.tags)
    sums = torch.zeros(1, classes, encoder.width)
    counts = torch.zeros(1, classes)
    for at in range(0, len(target.sentences), ENCODED_AT_ONCE):
        batch = batcher([target.sentences[at : at + ENCODED_AT_ONCE]], [target.labels])
        assert batch.tags is not None
        more, found = class_sums(encoder(batch), batch.tags, batch.mask, classes)
        sums, counts = sums + more, counts + found
    return class_means(sums, counts)
