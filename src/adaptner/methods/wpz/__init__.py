"""WPZ: a prototypical classifier of single tokens (Fritzler et al. 2019; paper 002, 5.1.1).

Learnt from the sources by episodes: the support's class means classify the query's tokens. On the
target it is retrained by episodes of the target's sentences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import torch
from pydantic import Field

from adaptner.bilevel import equal_weights
from adaptner.episodes import TaskSource
from adaptner.methods.base import AdaptRequest, Capabilities, MethodConfig
from adaptner.methods.families.source_pretrained import (
    FitContext,
    Iteration,
    SourceConfig,
    SourcePretrainedMethod,
)
from adaptner.methods.wpz.adaptation import PrototypeTuneConfig, adapt_prototypes, episode_loss
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.model import Losses, ModelShape
from adaptner.training.budget import Budget
from adaptner.training.loop import StepMetrics


class WPZConfig(SourceConfig):
    decoders: Literal["shared"] = "shared"  # its one learned number
    tag_head: Literal["crf"] = "crf"  # no choice: its own is neither
    per_token: Literal[False] = False
    adaptation: PrototypeTuneConfig = PrototypeTuneConfig()
    retrain: bool = Field(True, description="False: the target's sentences give means only")

    def shape(self) -> ModelShape:
        return ModelShape(decoder="prototypes", shared=True)


class WPZ(SourcePretrainedMethod):
    name = "wpz"
    title = "WPZ"
    paper = "MetaNER"
    capabilities = Capabilities(decoders=("prototypes",))
    Config: ClassVar[type[MethodConfig]] = WPZConfig
    config: WPZConfig

    def iteration(self, scene: FitContext) -> Iteration:
        config, model, noise = self.config, scene.model, scene.state.noise
        tasks = TaskSource([d.corpora for d in scene.sources], config.k)
        classes = len(model.labels_of(0).tags)

        def iterate(iteration: int) -> StepMetrics:
            drawn = [tasks.sample(scene.state.rng) for _ in range(config.tasks)]
            domains = [task.domain for task in drawn]
            (support, query), rows = scene.batches(
                ([task.support for task in drawn], domains),
                ([task.query for task in drawn], domains),
            )
            start = {n: p.requires_grad_() for n, p in model.stacked(domains, rows).items()}
            losses = episode_loss(
                model.states(start, support, noise),
                support,
                model.states(start, query, noise),
                query,
                start["decoder.outside"],
                classes,
            )
            found = torch.autograd.grad(losses.sum(), list(start.values()))
            weights = equal_weights(Losses(losses, None, losses))
            model.add_gradients(domains, dict(zip(start, found, strict=True)), weights, rows)
            loss = float(losses.detach().mean())
            return StepMetrics(loss, {"label": loss}, f"loss {loss:.2f}")

        return iterate

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        if not self.config.retrain:
            given = replace(given, budget=Budget(0))
        return adapt_prototypes(base, given.support, self.config.adaptation, **given.options())
