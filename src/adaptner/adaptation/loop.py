"""The training loop of adaptation. Methods differ only in their ``AdaptationObjective``."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from adaptner.adaptation.request import AdaptRequest
from adaptner.adaptation.target import TargetData
from adaptner.compute import noise_generator
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.batch import Batcher
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.model import Decoder
from adaptner.progress import ProgressCallback
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import TrainingState
from adaptner.training.loop import StepMetrics, TrainingRun, run_training
from adaptner.training.optimiser import Optimiser
from adaptner.types import Sentence

if TYPE_CHECKING:
    from adaptner.adaptation.fine_tune import FineTuneConfig


class AdaptationObjective(ABC):
    """What one way of adapting a base minimises, and what the loop must know to minimise it.

    ``build`` sets ``encoder`` and ``decoder``, which are those of the tagger that results. ``loss``
    draws sentences and returns the loss of the next step. The loop sets ``batcher``, which knows only
    the words of ``sentences`` and ``extra_words``.
    """

    encoder: Encoder
    decoder: Decoder
    batcher: Batcher

    def __init__(
        self,
        base: Base,
        request: AdaptRequest,
        config: FineTuneConfig,
        sources: Mapping[str, Sequence[Sentence]] | None = None,
    ) -> None:
        """``sources``: labelled sentences of the base's domains. If ``config`` has ``zero_shot`` set,
        the labels of ``request.support`` are not read."""
        self.base, self.request, self.config = base, request, config
        self.sources = sources or {}
        self.target = self.target_data()
        self.generator = torch.Generator().manual_seed(request.seed)
        self.rng = random.Random(request.seed)
        self.build()

    @abstractmethod
    def build(self) -> None:
        """Set ``encoder``, ``decoder`` and whatever else ``loss`` needs."""

    @property
    def zero_shot(self) -> bool:
        """Whether the target has no labelled sentence; only some configurations offer it."""
        return getattr(self.config, "zero_shot", False)

    def target_data(self) -> TargetData:
        """The labelled sentences to learn from and the labels to find."""
        request = self.request
        if self.zero_shot:
            return TargetData.unseen(self.base, self.sources, request.labels)
        return TargetData.of(self.base, request.support, request.labels)

    def loss(self) -> Tensor:
        """The loss of the next step; not needed if a subclass overrides ``compute_gradients``."""
        raise NotImplementedError

    @property
    def source_sentences(self) -> list[Sentence]:
        return [s for sentences in self.sources.values() for s in sentences]

    def sentences(self) -> list[Sentence]:
        """All sentences that the steps may read."""
        return self.target.sentences

    def extra_words(self) -> Iterable[str]:
        """Words that the steps may read and that are not in ``sentences``."""
        return ()

    def epoch_size(self) -> int:
        """The number of sentences that the default number of steps depends on."""
        return len(self.target.sentences) or len(self.source_sentences)

    def stages(self, budget: Budget) -> Iterator[Budget]:
        """The budgets of successive stages, each of which starts with a new optimiser.

        The body of an overriding generator runs between the stages."""
        yield budget

    def other_parameters(self) -> list[nn.Parameter]:
        """The trained parameters outside the encoder."""
        return list(self.decoder.parameters())

    def optimiser(self) -> Optimiser:
        return self.config.optimiser_of(self.encoder, self.other_parameters())

    def compute_gradients(self, parameters: Sequence[nn.Parameter]) -> float:
        """Set ``.grad`` of ``parameters`` for the next step and return the step's loss."""
        loss = self.loss()
        gradients = torch.autograd.grad(loss, list(parameters), allow_unused=True)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        return float(loss.detach())

    def describe(self, loss: float) -> str:
        """The text that the progress display shows after a step."""
        return f"loss {loss:.2f}"

    def is_finished(self, steps: int) -> bool:
        """Whether to stop after ``steps`` steps although the budget is not spent."""
        return False

    def finish(self, steps: int) -> None:  # noqa: B027 (few objectives need it)
        """Complete the encoder and the decoder after the last of ``steps`` steps."""

    def facts(self) -> dict[str, object]:
        """What the tagger's facts record besides steps, sentences, seed and base."""
        return {}


def run(objective: AdaptationObjective) -> Tagger:
    """Minimise ``objective`` within its request's budget and return the tagger.

    Raises TrainingDiverged if the loss or its gradient is not finite."""
    base, request = objective.base, objective.request
    budget = request.budget or Budget(objective.config.steps_for(objective.epoch_size()))
    vocabulary = restrict_vocabulary(objective)
    objective.generator = noise_generator(objective.generator, objective.encoder.device)
    steps = 0
    for stage in objective.stages(budget):
        progress = _offset(objective.request.progress, steps, budget.steps)
        steps += _run_stage(objective, stage, progress)
    objective.finish(steps)
    vocabulary.restore()
    facts = adaptation_facts(base, objective.target, steps, request.seed) | objective.facts()
    return Tagger(
        objective.encoder, objective.decoder, base.batcher, base.method, facts, base.folder
    )


def restrict_vocabulary(objective: AdaptationObjective) -> ActiveVocabulary:
    """Restrict the objective's encoder to the words that its steps read, and set its batcher."""
    vocabulary = ActiveVocabulary(
        objective.encoder,
        objective.base.batcher,
        objective.sentences(),
        objective.extra_words(),
    )
    objective.batcher = vocabulary.batcher
    return vocabulary


def _run_stage(objective: AdaptationObjective, budget: Budget, progress: ProgressCallback) -> int:
    """The number of steps taken."""
    optimiser = objective.optimiser()

    def iterate(iteration: int) -> StepMetrics:
        loss = objective.compute_gradients(optimiser.parameters)
        return StepMetrics(loss, remark=objective.describe(loss))

    state = TrainingState(objective.encoder, optimiser, objective.rng, objective.generator)
    run = TrainingRun(progress=progress)
    return run_training(state, iterate, budget, run, objective.is_finished).done


def _offset(progress: ProgressCallback, before: int, total: int) -> ProgressCallback:
    """Report the steps of a stage as steps of the whole adaptation."""
    return lambda done, _, remark="": progress(before + done, total, remark)


def adaptation_facts(base: Base, target: TargetData, steps: int, seed: int) -> dict[str, object]:
    """The facts that every tagger records about its adaptation."""
    return {
        "steps": steps,
        "sentences": len(target.sentences),
        "seed": seed,
        "base": base.method,
    }
