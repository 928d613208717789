"""WPZ: a prototypical classifier of single tokens (Fritzler et al. 2019; MetaNER, section 5.1.1).

It learns from the sources in episodes: the class means of the support classify the tokens of the
query. On the target it is retrained by episodes of the target's sentences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from pydantic import Field

from adaptner.adaptation.fine_tune import FreshDecoderConfig
from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.bilevel import equal_weights
from adaptner.episodes import TaskSource
from adaptner.methods.base import Capabilities
from adaptner.methods.families.source_pretrained import (
    FitContext,
    Iteration,
    SourceConfig,
    SourcePretrainedMethod,
)
from adaptner.methods.wpz.adaptation import PrototypeEpisodes, episode_loss
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.model import Losses, ModelShape
from adaptner.training.budget import Budget
from adaptner.training.loop import StepMetrics


class WPZConfig(SourceConfig):
    decoders: Literal["shared"] = "shared"  # the decoder has one learned number
    tag_head: Literal["crf"] = "crf"  # not used: the decoder is prototypes
    per_token: Literal[False] = False
    adaptation: FreshDecoderConfig = FreshDecoderConfig()
    retrain: bool = Field(
        True, description="Retrain on the target; otherwise only take the class means from it."
    )

    def shape(self) -> ModelShape:
        return ModelShape(decoder="prototypes", shared=True)


class WPZ(SourcePretrainedMethod):
    name = "wpz"
    title = "WPZ"
    paper = "MetaNER"
    capabilities = Capabilities(decoders=("prototypes",))
    Config = WPZConfig
    config: WPZConfig

    def iteration(self, context: FitContext) -> Iteration:
        config, model, noise = self.config, context.model, context.state.noise
        tasks = TaskSource([d.corpora for d in context.sources], config.k)
        classes = len(model.labels_of(0).tags)

        def iterate(iteration: int) -> StepMetrics:
            episodes = [tasks.sample(context.state.rng) for _ in range(config.tasks)]
            domains = [task.domain for task in episodes]
            (support, query), rows = context.batches(
                ([task.support for task in episodes], domains),
                ([task.query for task in episodes], domains),
            )
            point = {n: p.requires_grad_() for n, p in model.stack_tasks(domains, rows).items()}
            losses = episode_loss(
                model.states(point, support, noise),
                support,
                model.states(point, query, noise),
                query,
                point["decoder.outside"],
                classes,
            )
            found = torch.autograd.grad(losses.sum(), list(point.values()))
            weights = equal_weights(Losses(losses, None, losses))
            model.add_gradients(domains, dict(zip(point, found, strict=True)), weights, rows)
            loss = float(losses.detach().mean())
            return StepMetrics(loss, {"label": loss}, f"loss {loss:.2f}")

        return iterate

    def tagger(self, base: Base, request: AdaptRequest) -> Tagger:
        if not self.config.retrain:
            request = replace(request, budget=Budget(0))
        return run(PrototypeEpisodes(base, request, self.config.adaptation))
