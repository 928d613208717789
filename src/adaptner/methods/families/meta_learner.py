"""HGDA's Algorithm 1, of which MAML, HGDA and HGDA-NEs are variants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from adaptner.bilevel import (
    OUTER_GRADIENTS,
    TASK_WEIGHTINGS,
    GradientAccumulator,
    InnerLoop,
    Step,
    bilevel_step,
)
from adaptner.corpora.sources import SourceDomain
from adaptner.episodes import Sampling, Task, TaskSource
from adaptner.methods.base import Capabilities, MethodConfig
from adaptner.methods.families.source_pretrained import (
    FitContext,
    Iteration,
    SourceConfig,
    SourcePretrainedMethod,
    step_metrics,
)
from adaptner.nn.model import ModelShape, Parameters
from adaptner.training.loop import StepMetrics
from adaptner.training.optimiser import OptimiserConfig


class MetaConfig(SourceConfig):
    """The values of HGDA's appendix and, where it has none, those of the rulings (docs/methods/hgda.md)."""

    sampling: Sampling = Field(
        "all", description="Draw tasks from all sentences or from those with an entity."
    )
    weighting: Literal["uniform", "hardness"] = Field(
        "uniform", description="Weights of the tasks' gradients: equal, or by hardness (HGDA)."
    )
    classifier: bool = Field(False, description="Train a domain classifier (ω).")
    reversal: bool = Field(
        False, description="Reverse the classifier's gradient before it reaches the encoder."
    )
    aux_weight: float = Field(1.0, ge=0, description="Weight λ of the classifier's loss (eq. 1).")
    outer: Literal["first", "second", "implicit"] = Field(
        "first", description="Outer gradient: first order, second order or implicit."
    )
    inner_steps: int = Field(1, ge=1, description="Steps of the inner loop.")
    base_rate: float = Field(
        1e-2, gt=0, description="SGD's rates are base_rate * sqrt(k / 32) (eq. 3)."
    )
    inner_rate: float | None = Field(
        None, gt=0, description="Rate of the inner loop instead of eq. 3."
    )
    outer_rate: float | None = Field(
        None, gt=0, description="Rate of the outer update instead of eq. 3."
    )
    record_every: int = Field(10, ge=1, description="Iterations between two hardness records.")

    def scaled_rate(self) -> float:
        """The rate of the inner loop and, with SGD, of the outer update (HGDA, eq. 3)."""
        return self.base_rate * math.sqrt(self.k / 32)

    def outer_optimiser(self) -> OptimiserConfig:
        default = self.scaled_rate() if self.optimiser.name == "sgd" else self.optimiser.rate
        return self.optimiser.model_copy(update={"rate": self.outer_rate or default})

    def shape(self) -> ModelShape:
        return self.model_shape("mean" if self.classifier else "none", self.reversal)


class MetaLearner(SourcePretrainedMethod):
    capabilities = Capabilities(early_stopping=True)
    Config: ClassVar[type[MethodConfig]] = MetaConfig
    config: MetaConfig

    def min_domains(self) -> int:
        return 2 if self.config.classifier else 1

    def iteration(self, context: FitContext) -> Iteration:
        config, model, sources = self.config, context.model, context.sources
        tasks = TaskSource([d.corpora for d in sources], config.k, config.sampling)
        inner = InnerLoop(config.inner_steps, config.inner_rate or config.scaled_rate())
        outer, weighting = OUTER_GRADIENTS[config.outer](), TASK_WEIGHTINGS[config.weighting]

        def iterate(iteration: int) -> StepMetrics:
            batch = [tasks.sample(context.state.rng) for _ in range(config.tasks)]  # lines 3 to 5
            gradients = GradientAccumulator(model, weighting)
            for group in context.task_groups(batch):
                domains = [task.domain for task in group]
                (support, query), rows = context.batches(
                    ([task.support for task in group], domains),
                    ([task.query for task in group], domains),
                )
                on_support, on_query = (
                    context.loss_function(data, domains, config, config.aux_weight)
                    for data in (support, query)
                )
                point: Parameters = model.stack_tasks(domains, rows)
                step = bilevel_step(on_support, on_query, point, inner, outer, weighting)
                gradients.add(domains, step, rows)  # lines 10 to 12
            recorded = iteration == 1 or iteration % config.record_every == 0
            return _metrics(gradients.step(), batch, sources, recorded)

        return iterate


def _metrics(
    step: Step, batch: Sequence[Task], sources: Sequence[SourceDomain], recorded: bool
) -> StepMetrics:
    losses, weights = step.losses, step.weights
    spread = float(weights["encoder"].max() - weights["encoder"].min())
    tasks = None
    if recorded:
        tasks = [
            {
                "task": number,
                "domain": sources[task.domain].name,
                "corpus": task.corpus,
                "loss": float(losses.total[number]),
                "gamma": {g: float(w[number]) for g, w in weights.items()},
                "sentences": [bracketed(s) for s in task.query],
            }
            for number, task in enumerate(batch)
        ]
    return step_metrics(losses, f", γ spread {spread:.2f}", tasks, spread=spread)


def bracketed(sentence: Any) -> str:
    """The sentence's text with its entities in brackets, as in HGDA's Table 1."""
    text, at, parts = sentence.text, 0, []
    for entity in sorted(sentence.entities):
        parts += [text[at : entity.start], "[", entity.text_in(text), "]"]
        at = entity.end
    return "".join([*parts, text[at:]])
