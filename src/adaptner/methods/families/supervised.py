"""Supervised learning from all sources at once, without an inner loop.

An iteration draws the same tasks as a meta-learner and uses their K support and K query sentences as
one batch of 2K, so that all methods read equally many sentences in equally many iterations.
"""

from __future__ import annotations

from adaptner.bilevel import GradientAccumulator, Step, equal_weights, group_gradients
from adaptner.episodes import TaskSource
from adaptner.methods.families.source_pretrained import (
    FitContext,
    Iteration,
    SourceConfig,
    SourcePretrainedMethod,
    step_metrics,
)
from adaptner.training.loop import StepMetrics


class SupervisedMethod(SourcePretrainedMethod):
    def iteration(self, context: FitContext) -> Iteration:
        return joint_iteration(context, self.config)


def joint_iteration(
    context: FitContext, config: SourceConfig, aux_weight: float = 0.0
) -> Iteration:
    """The encoder (θ) learns by the label loss + λ times the auxiliary loss, the decoders (φ) by the label
    loss, the auxiliary head (ω) by its own."""
    model = context.model
    tasks = TaskSource([d.corpora for d in context.sources], config.k)

    def iterate(iteration: int) -> StepMetrics:
        batch_tasks = [tasks.sample(context.state.rng) for _ in range(config.tasks)]
        gradients = GradientAccumulator(model, equal_weights)
        for group in context.task_groups(batch_tasks):
            domains = [task.domain for task in group]
            sentences = [(*task.support, *task.query) for task in group]
            (batch,), rows = context.batches((sentences, domains))
            point = {n: p.requires_grad_() for n, p in model.stack_tasks(domains, rows).items()}
            losses = context.loss_function(batch, domains, config, aux_weight)(point)
            step = Step(losses.detached(), group_gradients(losses, point), equal_weights(losses))
            gradients.add(domains, step, rows)
        return step_metrics(gradients.step().losses)

    return iterate
