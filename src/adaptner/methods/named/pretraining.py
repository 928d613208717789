"""Training of source decoders over an encoder that does not change."""

from __future__ import annotations

import torch

from adaptner.bilevel import equal_weights
from adaptner.episodes import TaskSource
from adaptner.methods.families.source_pretrained import FitContext, Iteration, SourceConfig
from adaptner.nn.model import group_of
from adaptner.training.loop import StepMetrics


def decoder_iteration(scene: FitContext, config: SourceConfig) -> Iteration:
    """One step on the label loss of the decoders; the encoder is read without dropout."""
    model = scene.model
    tasks = TaskSource([d.corpora for d in scene.sources], config.k)

    def iterate(iteration: int) -> StepMetrics:
        drawn = [tasks.sample(scene.state.rng) for _ in range(config.tasks)]
        domains = [task.domain for task in drawn]
        sentences = [(*task.support, *task.query) for task in drawn]
        (batch,), rows = scene.batches((sentences, domains))
        point = model.stack_tasks(domains, rows)
        decoders = {n: p.requires_grad_() for n, p in point.items() if group_of(n) == "decoder"}
        losses = model.losses(point, batch, domains, per_token=config.per_token)
        gradients = torch.autograd.grad(losses.label.sum(), list(decoders.values()))
        weights = equal_weights(losses.detached())
        by_name = dict(zip(decoders, gradients, strict=True))
        model.add_gradients(domains, by_name, weights, rows)
        loss = float(losses.label.detach().mean())
        return StepMetrics(loss, {"label": loss}, f"loss {loss:.2f}")

    return iterate
