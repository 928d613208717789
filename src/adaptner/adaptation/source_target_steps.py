"""Steps over one batch of a source and one of the target: La-DTL, DATNet and Multi-Cell.

Each side has its own decoder over one encoder. What else ties the two sides together is the method's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Field
from torch import Generator, Tensor, nn

from adaptner.adaptation.batch_encoding import EncodedBatch, encode_lists
from adaptner.adaptation.fine_tune import FreshDecoderConfig
from adaptner.adaptation.joint_training import add_target_domain
from adaptner.adaptation.loop import AdaptationObjective
from adaptner.adaptation.sentence_batches import SentenceBatches
from adaptner.nn.batching.batch import Batch
from adaptner.nn.decoders.crf import CRF
from adaptner.types import LabelSet, Sentence


class SourceTargetConfig(FreshDecoderConfig):
    source_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Weight of the source's label loss; the target's is one minus this.",
    )


@dataclass(frozen=True)
class EncodedSide:
    """The encoded batch of one side and its decoder. The batch's tags are numbered as in ``labels``,
    which has the labels of both sides."""

    part: EncodedBatch
    decoder: CRF
    labels: LabelSet

    def loss(self) -> Tensor:
        """The decoder's loss, averaged over the sentences."""
        index = self.decoder.labels.index
        numbers = self.part.tags.new_tensor([index.get(tag, 0) for tag in self.labels.tags])
        tags = numbers[self.part.tags]
        return EncodedBatch(self.part.states, self.part.mask, tags).loss(self.decoder)


# Encodes the current batches of the source and of the target, in this order.
EncodeBothSides = Callable[[], tuple[EncodedSide, EncodedSide]]


class SourceTargetObjective(AdaptationObjective):
    """In each step, one source, drawn uniformly, is paired with the target."""

    config: SourceTargetConfig

    def build(self) -> None:
        self.model = add_target_domain(self)
        self.encoder = self.model.encoder
        self.decoder = self.model.decoder_of(len(self.sources))
        self.target_batches, *self.source_batches = (
            SentenceBatches(sentences, self.config.batch, self.rng)
            for sentences in (self.target.sentences, *self.sources.values())
        )

    @abstractmethod
    def pair_loss(self, encode_both: EncodeBothSides) -> Tensor:
        """The loss of a batch of a source and a batch of the target."""

    def encode(self, batch: Batch, noise: Generator | None = None) -> Tensor:
        states: Tensor = self.encoder(batch, noise)
        return states

    def label_loss(self, source: EncodedSide, target: EncodedSide) -> Tensor:
        share = self.config.source_share
        return share * source.loss() + (1 - share) * target.loss()

    def sentences(self) -> list[Sentence]:
        return [*self.target.sentences, *self.source_sentences]

    def other_parameters(self) -> list[nn.Parameter]:
        return list(self.model.decoder.parameters())

    def loss(self) -> Tensor:
        number = self.rng.randrange(len(self.source_batches))
        lists = [self.source_batches[number].next(), self.target_batches.next()]
        decoders = [self.model.decoder_of(number), self.decoder]
        labels = self.target.labels.with_labels(x for d in decoders for x in d.labels.labels)

        def encode_both() -> tuple[EncodedSide, EncodedSide]:
            parts = encode_lists(
                self.encode, self.batcher, labels, lists, self.encoder.device, self.generator
            )
            source, target = (
                EncodedSide(part, decoder, labels)
                for part, decoder in zip(parts, decoders, strict=True)
                if isinstance(decoder, CRF)
            )
            return source, target

        return self.pair_loss(encode_both)

    def facts(self) -> dict[str, object]:
        return {"source_sentences": len(self.source_sentences)}
