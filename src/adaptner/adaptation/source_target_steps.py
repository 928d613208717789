"""Steps over one batch of a source and one of the target, each with a φ of its own over one θ; what
binds the two sides is a method's own (La-DTL, DATNet)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from adaptner.adaptation.batch_encoding import EncodedBatch, EncodeFunction, encode_lists
from adaptner.adaptation.descent import SentenceBatches, take_steps
from adaptner.adaptation.fine_tune import FineTuneConfig, adaptation_facts, compute_gradients
from adaptner.adaptation.joint_training import add_target_domain
from adaptner.adaptation.target import TargetData
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary
from adaptner.nn.model import TaggingModel
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence


class SourceTargetConfig(FineTuneConfig):
    decoder: Literal["fresh"] = "fresh"
    freeze_decoder: Literal[False] = False
    source_share: float = Field(
        0.5, ge=0, le=1, description="of the labelling losses; the target's is the rest"
    )


@dataclass(frozen=True)
class EncodedSide:
    """What is made of a batch, its tags numbered over the labels of both sides, and its φ."""

    part: EncodedBatch
    decoder: CRF
    both: LabelSet

    def loss(self) -> Tensor:
        own = self.decoder.labels.index
        numbers = torch.tensor([own.get(tag, 0) for tag in self.both.tags])
        return EncodedBatch(self.part.states, self.part.mask, numbers[self.part.tags]).loss(
            self.decoder
        )


EncodeBothSides = Callable[
    [], tuple[EncodedSide, EncodedSide]
]  # the source's side, the target's side
# Its forward takes a ``EncodeBothSides`` and returns a loss; its parameters learn too. Where it has an ``encode``,
# that takes the encoder's place.
ObjectiveFactory = Callable[[TaggingModel, torch.Generator], nn.Module]


def train_on_source_and_target(
    base: Base,
    sentences: Sequence[Sentence],
    sources: Mapping[str, Sequence[Sentence]],
    config: SourceTargetConfig,
    objective: ObjectiveFactory,
    *,
    labels: LabelSet | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """At every step one of the sources, drawn uniformly, meets the target."""
    target = TargetData.of(base, sentences, labels)
    budget = budget or Budget(config.steps_for(len(target.sentences)))
    generator, rng = torch.Generator().manual_seed(seed), random.Random(seed)
    model = add_target_domain(base, list(sources), target.labels, False, False, generator)
    goal = len(sources)
    bound = objective(model, generator)
    encode: EncodeFunction = getattr(bound, "encode", model.encoder)
    pool = [s for own in sources.values() for s in own]
    table = ActiveVocabulary(model.encoder, base.batcher, [*target.sentences, *pool])
    optimiser = config.optimiser_of(
        model.encoder, [*model.decoder.parameters(), *bound.parameters()]
    )
    own_batches = SentenceBatches(target.sentences, config.batch, rng)
    source_batches = [SentenceBatches(own, config.batch, rng) for own in sources.values()]

    def fill() -> float:
        number = rng.randrange(goal)
        lists = [source_batches[number].next(), own_batches.next()]
        decoders = [model.decoder_of(number), model.decoder_of(goal)]
        both = target.labels.with_labels(x for d in decoders for x in d.labels.labels)

        def sides() -> tuple[EncodedSide, EncodedSide]:
            parts = encode_lists(encode, table.batcher, both, lists, generator)
            first, second = (
                EncodedSide(part, decoder, both)
                for part, decoder in zip(parts, decoders, strict=True)
                if isinstance(decoder, CRF)
            )
            return first, second

        loss = bound(sides)
        compute_gradients(loss, optimiser.parameters)
        return float(loss.detach())

    steps = take_steps(fill, optimiser, budget, progress)
    table.restore()
    facts = adaptation_facts(base, target, steps, seed) | {"source_sentences": len(pool)}
    decoder = model.decoder_of(goal)
    return Tagger(model.encoder, decoder, base.batcher, base.method, facts, base.folder)


def labelling_loss(source: EncodedSide, target: EncodedSide, source_share: float) -> Tensor:
    return source_share * source.loss() + (1 - source_share) * target.loss()
