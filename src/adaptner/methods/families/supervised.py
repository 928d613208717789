"""Plain learning from all sources at once: no inner loop.

An iteration draws the tasks that a meta-learner would and takes their K support and K query
sentences as one batch of 2K, so that every method sees as many sentences in as many iterations.
"""

from __future__ import annotations

from adaptner.bilevel import GradientAccumulator, Step, equal_weights, group_gradients
from adaptner.episodes import TaskSource
from adaptner.methods.families.source_pretrained import (
    FitContext,
    Iteration,
    SourceConfig,
    SourcePretrainedMethod,
)
from adaptner.training.loop import StepMetrics


class SupervisedMethod(SourcePretrainedMethod):
    def iteration(self, scene: FitContext) -> Iteration:
        return joint_iteration(scene, self.config)


def joint_iteration(scene: FitContext, config: SourceConfig, aux_weight: float = 0.0) -> Iteration:
    """θ by label + λ aux, φ by label, ω by aux, at the parameters themselves."""
    model = scene.model
    tasks = TaskSource([d.corpora for d in scene.sources], config.k)

    def iterate(iteration: int) -> StepMetrics:
        drawn = [tasks.sample(scene.state.rng) for _ in range(config.tasks)]
        gathered = GradientAccumulator(model, equal_weights)
        for part in scene.parts(drawn):
            domains = [task.domain for task in part]
            sentences = [(*task.support, *task.query) for task in part]
            (batch,), rows = scene.batches((sentences, domains))
            start = {n: p.requires_grad_() for n, p in model.stacked(domains, rows).items()}
            found = scene.objective(batch, domains, config, aux_weight)(start)
            step = Step(found.detached(), group_gradients(found, start), equal_weights(found))
            gathered.add(domains, step, rows)
        losses = gathered.step().losses
        loss = float(losses.total.mean())
        metrics = {"label": float(losses.label.mean())}
        if losses.aux is not None:
            metrics["aux"] = float(losses.aux.mean())
        return StepMetrics(loss, metrics, f"loss {loss:.2f}")

    return iterate
