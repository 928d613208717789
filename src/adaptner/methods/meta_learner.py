"""HGDA's Algorithm 1 with its choices left open: what MAML, HGDA and HGDA-NEs have in common."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field

from adaptner.bilevel import OUTER, WEIGHTING, InnerLoop, Step, bilevel_step
from adaptner.episodes import Sampling, Task, TaskSource
from adaptner.errors import TooFewDomains
from adaptner.methods.method import Method, MethodConfig, SourceDomain
from adaptner.nn.batch import Batcher, alphabet_of
from adaptner.nn.encoder import EncoderConfig, RecurrentEncoder
from adaptner.nn.model import Parameters, TaggingModel
from adaptner.nn.vectors import WordVectors
from adaptner.training.base import Base
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import TrainingState
from adaptner.training.loop import Report, Run, train
from adaptner.training.optimiser import Optimiser, OptimiserConfig


class MetaConfig(MethodConfig):
    """HGDA's appendix where it speaks, the rulings where it is silent."""

    k: int = Field(10, ge=1, description="support and query sentences a task; T' of the target")
    tasks: int = Field(4, ge=1, description="m, tasks an iteration")
    sampling: Sampling = "all"
    weighting: Literal["uniform", "hardness"] = "uniform"
    classifier: bool = Field(False, description="ω: the domain classifier and its loss")
    reversal: bool = Field(False, description="reverse the classifier's gradient into θ")
    aux_weight: float = Field(1.0, ge=0, description="λ of eq. 1")
    per_token: bool = Field(False, description="mean over tokens instead of sum per sentence")
    outer: Literal["first", "second", "implicit"] = "first"
    inner_steps: int = Field(1, ge=1)
    base_rate: float = Field(
        1e-2, gt=0, description="SGD's rates are base_rate * sqrt(k / 32), eq. 3"
    )
    inner_rate: float | None = Field(None, gt=0, description="overrides eq. 3 inside")
    outer_rate: float | None = Field(None, gt=0, description="overrides the outer rate")
    # AdamW, as MetaBioNER has it: it gets further in minutes than HGDA's SGD
    # (docs/results/adaptation.md). The recipes in reproduce/recipes have the paper's SGD.
    optimiser: OptimiserConfig = Field(
        OptimiserConfig(name="adamw", rate=2e-3), description="outer; SGD's rate comes from eq. 3"
    )
    encoder: EncoderConfig = EncoderConfig()
    record_every: int = Field(10, ge=1, description="iterations between hardness records")

    def scaled_rate(self) -> float:
        """HGDA eq. 3: of the inner loop, and of the outer one with SGD."""
        return self.base_rate * math.sqrt(self.k / 32)

    def outer_optimiser(self) -> OptimiserConfig:
        default = self.scaled_rate() if self.optimiser.name == "sgd" else self.optimiser.rate
        return self.optimiser.model_copy(update={"rate": self.outer_rate or default})


class MetaLearner(Method):
    Config: ClassVar[type[MethodConfig]] = MetaConfig
    config: MetaConfig

    def fit(
        self,
        sources: Sequence[SourceDomain],
        budget: Budget,
        *,
        vectors: WordVectors | None = None,
        seed: int = 0,
        run: Run | None = None,
    ) -> Base:
        config = self.config
        least = 2 if config.classifier else 1
        if len(sources) < least:
            needed = f"at least {('one', 'two')[least - 1]}"
            raise TooFewDomains(found=len(sources), method=self.name, needed=needed)
        generator = torch.Generator().manual_seed(seed)
        model, batcher = build_model(sources, config, vectors, seed, generator)
        tasks = TaskSource([d.corpora for d in sources], config.k, config.sampling)
        inner = InnerLoop(config.inner_steps, config.inner_rate or config.scaled_rate())
        outer, weighting = OUTER[config.outer](), WEIGHTING[config.weighting]
        optimiser = Optimiser(model.parameters(), config.outer_optimiser())
        state = TrainingState(model, optimiser, random.Random(seed), generator)

        def iterate(iteration: int) -> Report:
            batch = [tasks.sample(state.rng) for _ in range(config.tasks)]  # lines 3 to 5
            domains = [task.domain for task in batch]
            labels = [sources[d].labels for d in domains]
            support = batcher([task.support for task in batch], labels)
            query = batcher([task.query for task in batch], labels)

            def losses(data: Any) -> Any:
                return lambda parameters: model.losses(
                    parameters,
                    data,
                    domains,
                    aux_weight=config.aux_weight,
                    per_token=config.per_token,
                    noise=state.noise,
                )

            start: Parameters = model.stacked(domains)
            step = bilevel_step(losses(support), losses(query), start, inner, outer, weighting)
            model.add_gradients(domains, step.gradients, step.weights)  # lines 10 to 12
            recorded = iteration == 1 or iteration % config.record_every == 0
            return _report(step, batch, sources, recorded)

        train(state, iterate, budget, run or Run())
        facts = {
            "iterations": state.done,
            "seed": seed,
            "sources": [
                {
                    "domain": d.name,
                    "sentences": len(d.sentences),
                    "removed": d.removed,
                    "sha256": d.sha256,
                }
                for d in sources
            ],
        }
        return Base(model, batcher, self.name, config.model_dump(mode="json"), facts)


def build_model(
    sources: Sequence[SourceDomain],
    config: MetaConfig,
    vectors: WordVectors | None,
    seed: int,
    generator: torch.Generator,
) -> tuple[TaggingModel, Batcher]:
    """θ over the given vectors (or tuned random ones over the sources' words), a φ per domain, ω."""
    sentences = [s for d in sources for s in d.sentences]
    shape = config.encoder
    if vectors is None:
        words = (s.tokens for s in sentences)
        vectors = WordVectors.random(words, shape.word_width, np.random.default_rng(seed))
        shape = shape.model_copy(update={"tune_words": True})
    batcher = Batcher(vectors, alphabet_of(sentences))
    encoder = RecurrentEncoder(shape, batcher, generator)
    domains = {d.name: d.labels for d in sources}
    model = TaggingModel(encoder, domains, generator, config.classifier, config.reversal)
    return model, batcher


def _report(
    step: Step, batch: Sequence[Task], sources: Sequence[SourceDomain], recorded: bool
) -> Report:
    losses, weights = step.losses, step.weights
    spread = float(weights["encoder"].max() - weights["encoder"].min())
    metrics = {"label": float(losses.label.mean()), "spread": spread}
    if losses.aux is not None:
        metrics["aux"] = float(losses.aux.mean())
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
    loss = float(losses.total.mean())
    return Report(loss, metrics, f"loss {loss:.2f}, γ spread {spread:.2f}", tasks)


def bracketed(sentence: Any) -> str:
    """The sentence with its entities in brackets, as in HGDA's Table 1."""
    text, at, parts = sentence.text, 0, []
    for entity in sorted(sentence.entities):
        parts += [text[at : entity.start], "[", entity.text_in(text), "]"]
        at = entity.end
    return "".join([*parts, text[at:]])
