"""Multi-Cell: an LSTM with a cell for every entity type, so that what is known of a type crosses over
(Jia and Zhang 2020, as PDALN's Table 1 has it)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from adaptner.adaptation.source_target_steps import (
    EncodeBothSides,
    EncodedSide,
    train_on_source_and_target,
)
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import IncompatibleMethod
from adaptner.methods.base import AdaptRequest, Capabilities, MethodConfig
from adaptner.methods.families.joint import SourceAndTargetMethod
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.multi_cell.algorithm import TextTuneConfig, adapt_multi_cell
from adaptner.methods.multi_cell.compositional_lstm import CompositionalLSTM
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.batch import Batch
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import TaggingModel
from adaptner.nn.rnn.packing import Packing
from adaptner.nn.rnn.parameters import fan_in_bound
from adaptner.training.budget import Budget
from adaptner.types import LabelSet

NO_CELL = -100  # the type of a token that no cell stands for; cross-entropy passes over it


class MultiCellTuneConfig(TextTuneConfig):
    type_weight: float = Field(1.0, ge=0, description="of what each cell says of a token's type")
    attention_weight: float = Field(1.0, ge=0, description="of attention to the type's own cell")


class MultiCellConfig(SourceConfig):
    adaptation: MultiCellTuneConfig = MultiCellTuneConfig()


class TypedCells(nn.Module):
    """The labelling losses of both sides, and two more that give each cell its type: cell 0 is O's,
    the others are those of ``labels`` in their order."""

    def __init__(
        self,
        config: MultiCellTuneConfig,
        encoder: RecurrentEncoder,
        labels: LabelSet,
        generator: Generator,
    ) -> None:
        super().__init__()
        assert isinstance(encoder.recurrent, CompositionalLSTM)
        self.config, self.labels = config, labels
        self.cells = encoder.recurrent.cells
        self._encoder = [encoder]  # in a list: not a part of this module
        self.weight = fan_in_bound((self.cells, encoder.recurrent.width), encoder.width, generator)
        self.bias = fan_in_bound((self.cells,), encoder.width, generator)

    def encode(self, batch: Batch, noise: Generator | None = None) -> Tensor:
        """Behind a token's states: a score for each type, then how much each cell had, a direction
        after the other."""
        (encoder,) = self._encoder
        recurrent = encoder.recurrent
        assert isinstance(recurrent, CompositionalLSTM)
        heard: list[Tensor] = []

        def listener(typed: Tensor, shares: Tensor, packing: Packing) -> None:
            flat = packing.unpack(typed.flatten(-2))  # (G, B, L, 2 x K x H)
            apart = flat.unflatten(-1, (2, self.cells, -1)).transpose(-2, -3).flatten(-2)
            heard.extend([(apart * self.weight).sum(-1) + self.bias, packing.unpack(shares)])

        with recurrent.heard_by(listener):
            states = encoder(batch, noise)
        return torch.cat([states, *heard], -1)

    def forward(self, read: EncodeBothSides) -> Tensor:
        share = self.config.source_share
        source, target = (self.side_loss(side) for side in read())
        return share * source + (1 - share) * target

    def side_loss(self, side: EncodedSide) -> Tensor:
        """Of the labels, and of the types of all tokens that a cell stands for."""
        config, width = self.config, self._encoder[0].width
        states = side.part.states[..., :width]
        total = replace(side, part=replace(side.part, states=states)).loss()
        types = self.types_of(side)
        if not bool((types != NO_CELL).any()):
            return total
        scores, *shares = side.part.tokens[:, width:].split(self.cells, -1)
        said = F.cross_entropy(scores, types, ignore_index=NO_CELL)
        looked = [
            F.nll_loss(each.clamp(min=1e-9).log(), types, ignore_index=NO_CELL) for each in shares
        ]
        attention = torch.stack(looked).mean()
        return total + config.type_weight * said + config.attention_weight * attention

    def types_of(self, side: EncodedSide) -> Tensor:
        """The cell of each token."""
        place = {label: 1 + n for n, label in enumerate(self.labels.labels)}
        cells = [0 if tag == "O" else place.get(tag[2:], NO_CELL) for tag in side.both.tags]
        return torch.tensor(cells)[side.part.token_tags]


class MultiCell(SourceAndTargetMethod):
    name = "multi-cell"
    title = "Multi-Cell"
    paper = "PDALN"
    needs = "source corpora, at adaptation too; without labels, target text"
    capabilities = Capabilities(
        target_labels="optional",
        sources="required",
        text="in memory",
        decoders=("crf",),
        encoders=("recurrent",),
    )
    Config: ClassVar[type[MethodConfig]] = MultiCellConfig
    config: MultiCellConfig

    def fit(self, sources: Sequence[SourceDomain], budget: Budget, **options: Any) -> Base:
        """A cell for O and one for each label of the sources, whatever the configuration says."""
        labels = {label for domain in sources for label in domain.labels.labels}
        told = type(self)(self.config, encoder={"recurrent": f"cells-{1 + len(labels)}"})
        return super(MultiCell, told).fit(sources, budget, **options)

    def check(self, base: Base) -> None:
        super().check(base)
        if not isinstance(getattr(base.model.encoder, "recurrent", None), CompositionalLSTM):
            raise IncompatibleMethod(
                method=self.name, base=base.method, reason="it has no cells for entity types"
            )

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        config = self.config.adaptation

        def cells(model: TaggingModel, generator: Generator) -> TypedCells:
            assert isinstance(model.encoder, RecurrentEncoder)  # ``check`` has seen to it
            return TypedCells(config, model.encoder, base.labels, generator)

        sources = self.labelled(base, given.sources)
        if not config.zero_shot:
            return train_on_source_and_target(
                base, given.support, sources, config, cells, **given.options()
            )
        return adapt_multi_cell(
            base,
            given.support,
            sources,
            config,
            cells,
            unlabelled=given.unlabelled,
            **given.options(),
        )
