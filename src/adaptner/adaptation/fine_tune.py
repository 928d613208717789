"""Fine-tuning a base on the few sentences of a new domain (HGDA 4.2; ruling: Decoders, Budget)."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Sequence

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from adaptner.adaptation.decoder_start import DecoderStart, starting_decoder
from adaptner.adaptation.descent import SentenceBatches, take_steps
from adaptner.adaptation.target import TargetData
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary
from adaptner.nn.encoders.base import Encoder
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.types import LabelSet, Sentence


class FineTuneConfig(BaseModel):
    """The papers give no budget of fine-tuning; these were chosen on source domains
    (docs/results/adaptation.md), and ``adaptner tune`` chooses them anew (docs/tuning.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int = Field(20, ge=1, description="at least so many")
    epochs: int = Field(10, ge=0, description="and so many times through the sentences")
    batch: int = Field(10, ge=1, description="sentences a step")
    optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=0.1, weight_decay=1e-6)
    encoder_scale: float = Field(0.1, gt=0, description="θ's rate over φ's")
    decoder: DecoderStart = Field(
        "fresh", description="φ starts as noise (the papers) or as the mean of the source decoders"
    )
    freeze_decoder: bool = Field(False, description="MetaBioNER: only θ is adapted")

    def steps_for(self, sentences: int) -> int:
        return max(self.steps, self.epochs * math.ceil(sentences / self.batch))

    def optimiser_of(self, encoder: Encoder, others: Sequence[nn.Parameter]) -> Optimiser:
        """Over θ, at its own rate, and what else learns."""
        own = encoder.rates()
        theta = {p: self.encoder_scale * own.get(p, 1.0) for p in encoder.parameters()}
        large = encoder.kind == "transformer"  # AdamW in 7 ms instead of 50
        return Optimiser([*theta, *others], self.optimiser, theta, fused=large)


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
    """θ and a new φ (or ``start``), both trained on ``sentences``; ω is dropped."""
    target = TargetData.of(base, sentences, labels)
    budget = budget or Budget(config.steps_for(len(target.sentences)))
    generator = torch.Generator().manual_seed(seed)
    encoder = copy.deepcopy(base.model.encoder)
    decoder = start or starting_decoder(base, target.labels, config.decoder, generator)
    table = ActiveVocabulary(encoder, base.batcher, target.sentences)
    learned = [] if config.freeze_decoder else list(decoder.parameters())
    optimiser = config.optimiser_of(encoder, learned)
    batches = SentenceBatches(target.sentences, config.batch, random.Random(seed))

    def fill() -> float:
        batch = table.batcher([batches.next()], [target.labels])
        assert batch.tags is not None
        loss = decoder(encoder(batch, generator), batch.tags, batch.mask).mean()
        compute_gradients(loss, optimiser.parameters)
        return float(loss.detach())

    steps = take_steps(fill, optimiser, budget, progress)
    table.restore()
    facts = adaptation_facts(base, target, steps, seed)
    return Tagger(encoder, decoder, base.batcher, base.method, facts, base.folder)


def adaptation_facts(base: Base, target: TargetData, steps: int, seed: int) -> dict[str, object]:
    return {
        "steps": steps,
        "sentences": len(target.sentences),
        "seed": seed,
        "base": base.method,
    }


def compute_gradients(loss: torch.Tensor, parameters: Sequence[nn.Parameter]) -> None:
    for p, g in zip(
        parameters, torch.autograd.grad(loss, list(parameters), allow_unused=True), strict=True
    ):
        p.grad = g
