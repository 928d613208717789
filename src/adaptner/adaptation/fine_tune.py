"""Fine-tuning a base on the few labelled sentences of a new domain (HGDA, section 4.2)."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from adaptner.adaptation.decoder_start import DecoderStart, starting_decoder
from adaptner.adaptation.loop import AdaptationObjective, run
from adaptner.adaptation.request import AdaptRequest
from adaptner.adaptation.sentence_batches import SentenceBatches
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.model import TagDecoder
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.types import LabelSet, Sentence


class FineTuneConfig(BaseModel):
    """Settings of fine-tuning.

    The papers state no budget. The defaults were chosen on source domains
    (docs/results/adaptation.md); ``adaptner tune`` chooses others for your data (docs/tuning.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int = Field(20, ge=1, description="Minimum number of steps.")
    epochs: int = Field(10, ge=0, description="Minimum number of passes over the sentences.")
    batch: int = Field(10, ge=1, description="Sentences in a batch.")
    optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=0.1, weight_decay=1e-6)
    encoder_scale: float = Field(
        0.1, gt=0, description="Learning rate of the encoder relative to that of the decoder."
    )
    decoder: DecoderStart = Field(
        "fresh",
        description="Whether the decoder starts from noise, as in the papers, or from the mean of "
        "the source decoders.",
    )
    freeze_decoder: bool = Field(False, description="Train the encoder only (MetaBioNER).")

    def steps_for(self, sentences: int) -> int:
        return max(self.steps, self.epochs * math.ceil(sentences / self.batch))

    def optimiser_of(self, encoder: Encoder, others: Sequence[nn.Parameter]) -> Optimiser:
        """An optimiser of the encoder, at its own rate, and of ``others``."""
        factors = encoder.rates()
        scale = {p: self.encoder_scale * factors.get(p, 1.0) for p in encoder.parameters()}
        fused = encoder.kind == "transformer"  # a step of AdamW takes 7 ms instead of 50
        return Optimiser([*scale, *others], self.optimiser, scale, fused=fused)


class FreshDecoderConfig(FineTuneConfig):
    """Settings of adaptation that always trains a new decoder."""

    decoder: Literal["fresh"] = "fresh"
    freeze_decoder: Literal[False] = False


class FineTuningObjective(AdaptationObjective):
    """The label loss of the target's sentences, for the encoder and a new decoder."""

    decoder: TagDecoder

    def __init__(self, *arguments: Any, start: CRF | None = None) -> None:
        """``start``: the decoder to begin with, instead of the one that the settings ask for."""
        self.start = start
        super().__init__(*arguments)

    def build(self) -> None:
        self.encoder = copy.deepcopy(self.base.model.encoder)
        self.decoder = self.start or starting_decoder(
            self.base, self.target.labels, self.config.decoder, self.generator
        )
        self.batches = SentenceBatches(self.target.sentences, self.config.batch, self.rng)

    def other_parameters(self) -> list[nn.Parameter]:
        return [] if self.config.freeze_decoder else super().other_parameters()

    def loss(self) -> Tensor:
        batch = self.batcher([self.batches.next()], [self.target.labels]).to(self.encoder.device)
        assert batch.tags is not None
        losses: Tensor = self.decoder(self.encoder(batch, self.generator), batch.tags, batch.mask)
        return losses.mean()


def fine_tune(
    base: Base,
    sentences: Sequence[Sentence],
    config: FineTuneConfig,
    *,
    start: CRF | None = None,
    labels: LabelSet | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """Train a copy of the base's encoder and a new decoder (or ``start``) on ``sentences``."""
    request = AdaptRequest(sentences, labels, budget=budget, seed=seed, progress=progress)
    return run(FineTuningObjective(base, request, config, start=start))
