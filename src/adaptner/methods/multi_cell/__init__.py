"""Multi-Cell: an LSTM with a cell for every entity type, so that knowledge of a type crosses domains
(Jia and Zhang 2020), as PDALN's Table 1 reports it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptner.adaptation.loop import AdaptationObjective
from adaptner.adaptation.request import AdaptRequest
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import IncompatibleMethod
from adaptner.methods.base import Capabilities
from adaptner.methods.families.joint import SourceAndTargetMethod, SourceSentences
from adaptner.methods.families.source_pretrained import SourceConfig
from adaptner.methods.multi_cell.algorithm import MultiCellObjective, UnsupervisedMultiCell
from adaptner.methods.multi_cell.compositional_lstm import CompositionalLSTM
from adaptner.methods.multi_cell.config import MultiCellTuneConfig
from adaptner.models.base import Base
from adaptner.training.budget import Budget


class MultiCellConfig(SourceConfig):
    adaptation: MultiCellTuneConfig = MultiCellTuneConfig()


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
    Config = MultiCellConfig
    config: MultiCellConfig

    def fit(self, sources: Sequence[SourceDomain], budget: Budget, **options: Any) -> Base:
        """The encoder gets a cell for O and one for each label of the sources, whatever the
        configuration says."""
        labels = {label for domain in sources for label in domain.labels.labels}
        method = type(self)(self.config, encoder={"recurrent": f"cells-{1 + len(labels)}"})
        return super(MultiCell, method).fit(sources, budget, **options)

    def check(self, base: Base) -> None:
        super().check(base)
        if not isinstance(getattr(base.model.encoder, "recurrent", None), CompositionalLSTM):
            raise IncompatibleMethod(
                method=self.name, base=base.method, reason="it has no cells for entity types"
            )

    def objective(
        self, base: Base, request: AdaptRequest, sources: SourceSentences
    ) -> AdaptationObjective:
        config = self.config.adaptation
        kind = UnsupervisedMultiCell if config.zero_shot else MultiCellObjective
        return kind(base, request, config, sources)
