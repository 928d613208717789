"""Fine-tuning a base on the few sentences of a new domain (HGDA 4.2; ruling: Decoders, Budget)."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from adaptner.adaptation.tagger import Tagger
from adaptner.errors import NoEntities, TooFewSentences, TrainingDiverged
from adaptner.nn.crf import CRF
from adaptner.training.base import Base
from adaptner.training.budget import Budget, Clock
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.training.progress import Watch, silent
from adaptner.types import LabelSet, Sentence


class FineTuneConfig(BaseModel):
    """The papers give no budget of fine-tuning; these were chosen on source domains
    (docs/results/adaptation.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int = Field(20, ge=1, description="at least so many")
    epochs: int = Field(10, ge=0, description="and so many times through the sentences")
    batch: int = Field(10, ge=1, description="sentences a step")
    optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=0.1, weight_decay=1e-6)
    encoder_scale: float = Field(0.1, gt=0, description="θ's rate over φ's")
    decoder: Literal["fresh", "mean"] = Field(
        "fresh", description="φ starts as noise (the papers) or as the mean of the source decoders"
    )
    freeze_decoder: bool = Field(False, description="MetaBioNER: only θ is adapted")

    def steps_for(self, sentences: int) -> int:
        return max(self.steps, self.epochs * math.ceil(sentences / self.batch))


def fine_tune(
    base: Base,
    sentences: Sequence[Sentence],
    config: FineTuneConfig,
    *,
    labels: LabelSet | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    watch: Watch = silent,
) -> Tagger:
    """θ and a new φ, both trained on ``sentences``; ω is dropped.

    ``labels`` adds to those of the sentences (a few-shot draw may show only some, or none)."""
    sentences = [s for s in sentences if len(s)]
    if not sentences:
        raise TooFewSentences(found=0, what="the labelled data", needed=1, option="more data")
    labels = LabelSet((*(labels or LabelSet(())).labels, *LabelSet.of(sentences).labels))
    if not labels:
        raise NoEntities(sentences=len(sentences))
    budget = budget or Budget(config.steps_for(len(sentences)))
    generator = torch.Generator().manual_seed(seed)
    rng = random.Random(seed)
    encoder = copy.deepcopy(base.model.encoder)
    decoder = _start(base, labels, config, generator)
    learned = list(encoder.parameters())
    scale = dict.fromkeys(learned, config.encoder_scale)
    if not config.freeze_decoder:
        learned += list(decoder.parameters())
    optimiser = Optimiser(learned, config.optimiser, scale)
    clock = Clock()
    queue: list[Sentence] = []
    steps = 0
    for step in range(budget.steps):
        if budget.seconds is not None and clock.seconds() >= budget.seconds:
            break
        size = min(config.batch, len(sentences))
        if len(queue) < size:  # every sentence once before any comes again
            queue = [*queue, *rng.sample(sentences, len(sentences))]
        chosen, queue = queue[:size], queue[size:]
        batch = base.batcher([chosen], [labels])
        assert batch.tags is not None
        loss = decoder(encoder(batch, generator), batch.tags, batch.mask).mean()
        _set_gradients(loss, learned)
        norm = optimiser.step(clock.share_spent(budget, step))
        if not (torch.isfinite(loss) and math.isfinite(norm)):
            raise TrainingDiverged(
                loss=f"{float(loss.detach())} and its gradient {norm}",
                iteration=step + 1,
                rates=config.optimiser.rate,
                kept="no model was written",
            )
        steps = step + 1
        watch(steps, budget.steps, f"loss {float(loss.detach()):.2f}")
    facts = {"steps": steps, "sentences": len(sentences), "seed": seed, "base": base.method}
    return Tagger(encoder, decoder, base.batcher, base.method, facts, base.folder)


def _start(base: Base, labels: LabelSet, config: FineTuneConfig, generator: torch.Generator) -> CRF:
    decoder = CRF(base.model.encoder.width, labels, generator)
    if config.decoder == "mean":
        _set_to_mean(
            decoder, [d for d in base.model.decoder if isinstance(d, CRF) and len(d.labels)]
        )
    return decoder


@torch.no_grad()
def _set_to_mean(decoder: CRF, sources: Sequence[CRF]) -> None:
    """What the source decoders agree on: O from O, and every B-x and I-x from the mean over the
    sources and their labels of B and I. Moves between two different labels keep their noise, and
    so does all where no source has a label."""
    if not sources:
        return
    parameters = [dict(s.named_parameters()) for s in sources]
    pairs = [
        (own, i) for own, s in zip(parameters, sources, strict=True) for i in range(len(s.labels))
    ]

    def rows(number: int) -> list[int]:  # O, B, I of the number-th label
        return [0, 1 + 2 * number, 2 + 2 * number]

    for name, p in decoder.named_parameters():
        mean = (
            torch.stack([own[name][0][rows(i)] for own, i in pairs])
            if name != "transition"
            else None
        )
        if mean is None:
            square = torch.stack([own[name][0][rows(i)][:, rows(i)] for own, i in pairs]).mean(0)
            for number in range(len(decoder.labels)):
                mine = rows(number)
                p[0, torch.tensor(mine)[:, None], torch.tensor(mine)] = square
        else:
            for number in range(len(decoder.labels)):
                p[0, rows(number)] = mean.mean(0)


def _set_gradients(loss: torch.Tensor, parameters: Sequence[nn.Parameter]) -> None:
    for p, g in zip(
        parameters, torch.autograd.grad(loss, list(parameters), allow_unused=True), strict=True
    ):
        p.grad = g
