"""Ours: over a θ that raw text has made, φ starts from what sources have taught of the same kind, or
from what the label's name means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from pydantic import Field
from torch import nn

from adaptner.adaptation.request import AdaptRequest
from adaptner.adaptation.target import TargetData
from adaptner.bilevel import equal_weights
from adaptner.corpora.sources import SourceDomain
from adaptner.episodes import TaskSource
from adaptner.methods.base import Capabilities
from adaptner.methods.families.source_pretrained import FitContext, Iteration, SourceConfig
from adaptner.methods.families.supervised import SupervisedMethod
from adaptner.methods.named.algorithm import MAX_FEW_SHOT, adapt_named
from adaptner.methods.named.decoder_fit import LinearFitConfig
from adaptner.methods.named.encoder_choice import choose_encoder
from adaptner.methods.named.held_out import cross_validate
from adaptner.models.base import Base
from adaptner.models.mentions import HeldOutPredictions
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.recurrent import EncoderConfig
from adaptner.nn.model import TaggingModel, group_of
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.training.loop import StepMetrics, TrainingRun
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors


class NamedConfig(SourceConfig):
    encoder: EncoderConfig = EncoderConfig(lexical_features=True)
    adaptation: LinearFitConfig = Field(LinearFitConfig())
    decoder_scale: float = Field(
        10.0,
        gt=0,
        description="times the optimiser's rate for φ, where θ stays as it was begun with",
    )


class NamedMethod(SupervisedMethod):
    name = "named"
    title = "NamedMethod"
    paper = "adaptner"
    needs = "raw text; source corpora if there are any"
    capabilities = Capabilities(
        text="streamed",
        text_in_protocol=False,
        calibrated=True,
        early_stopping=True,
        decoders=("crf",),
        encoders=("recurrent",),
    )
    Config = NamedConfig
    config: NamedConfig

    def fit(
        self,
        sources: Sequence[SourceDomain],
        budget: Budget,
        *,
        vectors: WordVectors | None = None,
        start: Base | None = None,
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> Base:
        """With a base to start from, its θ stays as it is, so that what it knows of names and of other
        sources stays true; sources of the same name are learnt anew."""
        base = super().fit(sources, budget, vectors=vectors, start=start, seed=seed, run=run)
        if start is None:
            return base
        base.provenance = base.provenance.keeping_encoder()
        base.label_probes = start.label_probes
        second = start.fine_tuned_encoder
        if second is not None and not set(second.domains) & set(base.model.domains):
            base.fine_tuned_encoder = second
        if start.model.shape != base.model.shape or base.model.shape.shared:
            return base  # its φ are of another make
        return base.of_domains(dict.fromkeys((*start.model.domains, *base.model.domains)), start)

    def iteration(self, scene: FitContext) -> Iteration:
        return decoder_iteration(scene, self.config) if scene.started else super().iteration(scene)

    def rates(self, model: TaggingModel, started: bool) -> dict[nn.Parameter, float]:
        if not started:
            return super().rates(model, started)
        return dict.fromkeys(model.decoder.parameters(), self.config.decoder_scale)

    def can_estimate(self, support: Sequence[Sentence]) -> bool:
        return len(support) <= MAX_FEW_SHOT

    def held_out(
        self,
        base: Base,
        support: Sequence[Sentence],
        *,
        labels: LabelSet | None = None,
        seed: int = 0,
        progress: ProgressCallback = no_progress,
        encoded: Any = None,
    ) -> list[HeldOutPredictions] | None:
        """By φ alone, which costs no more than the fit; what tuning θ adds is a matter of the
        constants of trust. None where that is too far from what happens: with many sentences."""
        target = TargetData.of(base, support, labels)
        if len(target.sentences) > MAX_FEW_SHOT or len({s.text for s in target.sentences}) < 2:
            return None
        options: dict[str, Any] = {"seed": seed, "progress": progress}
        sentences, labels, config = target.sentences, target.labels, self.config.adaptation
        base = choose_encoder(base, sentences, labels, config)
        return cross_validate(base, sentences, labels, config, **options)

    def tagger(self, base: Base, given: AdaptRequest) -> Tagger:
        options = {**given.options(), "unlabelled": given.unlabelled}
        return adapt_named(base, given.support, self.config.adaptation, **options)


def decoder_iteration(scene: FitContext, config: SourceConfig) -> Iteration:
    """φ by label, over a θ that stays and is read without dropout."""
    model = scene.model
    tasks = TaskSource([d.corpora for d in scene.sources], config.k)

    def iterate(iteration: int) -> StepMetrics:
        drawn = [tasks.sample(scene.state.rng) for _ in range(config.tasks)]
        domains = [task.domain for task in drawn]
        sentences = [(*task.support, *task.query) for task in drawn]
        (batch,), rows = scene.batches((sentences, domains))
        point = model.stacked(domains, rows)
        own = {n: p.requires_grad_() for n, p in point.items() if group_of(n) == "decoder"}
        losses = model.losses(point, batch, domains, per_token=config.per_token)
        slopes = torch.autograd.grad(losses.label.sum(), list(own.values()))
        weights = equal_weights(losses.detached())
        model.add_gradients(domains, dict(zip(own, slopes, strict=True)), weights, rows)
        loss = float(losses.label.detach().mean())
        return StepMetrics(loss, {"label": loss}, f"loss {loss:.2f}")

    return iterate
