"""Multi-Cell's losses and its two objectives: with and without target labels (Jia and Zhang 2020)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.adaptation.batch_encoding import EncodedBatch, encode_lists
from adaptner.adaptation.joint_training import add_target_domain
from adaptner.adaptation.loop import AdaptationObjective
from adaptner.adaptation.sentence_batches import SentenceBatches
from adaptner.adaptation.source_target_steps import (
    EncodeBothSides,
    EncodedSide,
    SourceTargetObjective,
)
from adaptner.methods.multi_cell.compositional_lstm import CompositionalLSTM
from adaptner.methods.multi_cell.config import MultiCellTuneConfig
from adaptner.methods.multi_cell.language_models import LanguageModels
from adaptner.nn.batching.batch import Batch
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.rnn.packing import Packing
from adaptner.nn.rnn.parameters import fan_in_parameter
from adaptner.types import LabelSet, Sentence

NO_CELL = -100  # the type of a token that has no cell; cross-entropy ignores it


class TypedCells(nn.Module):
    """The two losses that give each cell its type: cell 0 is that of O, the others are those of
    ``labels`` in their order."""

    def __init__(
        self,
        config: MultiCellTuneConfig,
        encoder: Encoder,
        labels: LabelSet,
        generator: Generator,
    ) -> None:
        super().__init__()
        self.config, self.labels = config, labels
        self._encoder = [encoder]  # in a list, so that it is not a submodule
        layer = self._layer
        self.cells = layer.cells
        self.weight = fan_in_parameter((self.cells, layer.width), encoder.width, generator)
        self.bias = fan_in_parameter((self.cells,), encoder.width, generator)

    @property
    def _layer(self) -> CompositionalLSTM:
        layer = self._encoder[0].get_submodule("recurrent")
        assert isinstance(layer, CompositionalLSTM)
        return layer

    def encode(self, batch: Batch, noise: Generator | None = None) -> Tensor:
        """Each token's states, followed by a score of each type and by the attention to each cell,
        forwards and backwards."""
        observed: list[Tensor] = []

        def observer(typed: Tensor, shares: Tensor, packing: Packing) -> None:
            flat = packing.unpack(typed.flatten(-2))  # (tasks, sentences, tokens, 2 x K x H)
            by_cell = flat.unflatten(-1, (2, self.cells, -1)).transpose(-2, -3).flatten(-2)
            scores = (by_cell * self.weight).sum(-1) + self.bias
            observed.extend([scores, packing.unpack(shares)])

        with self._layer.observe_cells(observer):
            states = self._encoder[0](batch, noise)
        return torch.cat([states, *observed], -1)

    def states(self, part: EncodedBatch) -> EncodedBatch:
        """``part`` without what ``encode`` has appended to the states."""
        width = self._encoder[0].width
        return EncodedBatch(part.states[..., :width], part.mask, part.tags)

    def loss(self, side: EncodedSide) -> Tensor:
        """The label loss, the loss of entity type prediction and the attention scoring loss."""
        plain = self.states(side.part)
        total = replace(side, part=plain).loss()
        types = self.types_of(side)
        if not bool((types != NO_CELL).any()):
            return total
        scores, *shares = side.part.tokens[:, plain.states.shape[-1] :].split(self.cells, -1)
        type_loss = F.cross_entropy(scores, types, ignore_index=NO_CELL)
        attention_losses = [
            F.nll_loss(share.clamp(min=1e-9).log(), types, ignore_index=NO_CELL) for share in shares
        ]
        attention_loss = torch.stack(attention_losses).mean()
        config = self.config
        return total + config.type_weight * type_loss + config.attention_weight * attention_loss

    def types_of(self, side: EncodedSide) -> Tensor:
        """The cell of each token's type, (tokens,)."""
        cell = {label: number for number, label in enumerate(self.labels.labels, 1)}
        cells = [0 if tag == "O" else cell.get(tag[2:], NO_CELL) for tag in side.labels.tags]
        tags = side.part.token_tags
        return tags.new_tensor(cells)[tags]


class MultiCellObjective(SourceTargetObjective):
    """The losses of both sides, each with its own CRF."""

    config: MultiCellTuneConfig

    def build(self) -> None:
        super().build()
        self.cells = TypedCells(self.config, self.encoder, self.base.labels, self.generator)
        self.cells.to(self.encoder.device)

    def encode(self, batch: Batch, noise: Generator | None = None) -> Tensor:
        return self.cells.encode(batch, noise)

    def pair_loss(self, encode_both: EncodeBothSides) -> Tensor:
        share = self.config.source_share
        source, target = (self.cells.loss(side) for side in encode_both())
        return share * source + (1 - share) * target

    def other_parameters(self) -> list[nn.Parameter]:
        return [*super().other_parameters(), *self.cells.parameters()]


class UnsupervisedMultiCell(AdaptationObjective):
    """The losses of labelled source sentences, and language models of source and target text.

    All domains share one CRF."""

    config: MultiCellTuneConfig
    decoder: CRF

    def build(self) -> None:
        config = self.config
        self.text = self.request.target_text()
        model = add_target_domain(self, shared=True)
        decoder = model.decoder_of(0)
        assert isinstance(decoder, CRF)
        self.encoder, self.decoder = model.encoder, decoder
        self.cells = TypedCells(config, self.encoder, self.base.labels, self.generator)
        self.cells.to(self.encoder.device)
        texts = [self.source_sentences, self.text]
        self.language_models = LanguageModels(texts, self.encoder.width, config, self.generator)
        self.language_models.to(self.encoder.device)
        self.batches = [SentenceBatches(text, config.batch, self.rng) for text in texts]

    def loss(self) -> Tensor:
        lists = [batches.next() for batches in self.batches]
        labels = self.decoder.labels
        parts = encode_lists(
            self.cells.encode, self.batcher, labels, lists, self.encoder.device, self.generator
        )
        total = self.cells.loss(EncodedSide(parts[0], self.decoder, labels))
        if self.config.lm_weight:
            states = [self.cells.states(part) for part in parts]
            total = total + self.config.lm_weight * self.language_models(states, lists)
        return total

    def sentences(self) -> list[Sentence]:
        return [*self.source_sentences, *self.text]

    def other_parameters(self) -> list[nn.Parameter]:
        modules = (self.decoder, self.cells, self.language_models)
        return [p for module in modules for p in module.parameters()]

    def facts(self) -> dict[str, object]:
        return {"source_sentences": len(self.source_sentences), "unlabelled": len(self.text)}
