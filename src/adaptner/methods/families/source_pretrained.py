"""Methods that learn a base from source domains: they build the model, train it and keep the base."""

from __future__ import annotations

import copy
import random
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import nn

from adaptner.compute import noise_generator
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import BadConfiguration, TooFewDomains
from adaptner.methods.base import Method, MethodConfig
from adaptner.models.base import Base
from adaptner.models.provenance import Provenance
from adaptner.nn.batching.batch import Batch, Batcher
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary, restrict_batch, rows_in_use
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.config import AnyEncoderConfig, EncoderConfig
from adaptner.nn.encoders.registry import new_encoder
from adaptner.nn.model import Losses, ModelShape, TaggingModel
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import TrainingState
from adaptner.training.loop import StepMetrics, TrainingRun, run_training
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.types import LabelSet, Sentence, TagScheme
from adaptner.vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from adaptner.bilevel import LossFunction
    from adaptner.episodes import Task

Iteration = Callable[[int], StepMetrics]


class SourceConfig(MethodConfig):
    """The settings of learning from sources that all these methods have."""

    k: int = Field(10, ge=1, description="Sentences of the support and of the query of a task.")
    tasks: int = Field(4, ge=1, description="Number m of tasks in an iteration.")
    decoders: Literal["own", "shared"] = Field(
        "own",
        description="A decoder for each domain, or one for all of them (homogeneous setting).",
    )
    tag_head: Literal["crf", "softmax"] = Field(
        "crf", description="Decoder: a CRF, or a fully connected layer alone (HGDA*)."
    )
    scheme: TagScheme = Field("bio", description="Tag scheme inside the model: bio or bioes.")
    per_token: bool = Field(
        False, description="Average the label loss over tokens instead of over sentences."
    )
    # AdamW as in MetaBioNER: within minutes it learns more than HGDA's SGD
    # (docs/results/adaptation.md). The recipes in reproduce/tables/recipes use the paper's SGD.
    optimiser: OptimiserConfig = Field(
        OptimiserConfig(name="adamw", rate=2e-3),
        description="Outer optimiser. In meta-learning, the rate of SGD comes from HGDA's eq. 3.",
    )
    encoder: AnyEncoderConfig = EncoderConfig()

    def outer_optimiser(self) -> OptimiserConfig:
        return self.optimiser

    def shape(self) -> ModelShape:
        return self.model_shape()

    def model_shape(
        self, head: Literal["none", "mean", "attention"] = "none", reversal: bool = False
    ) -> ModelShape:
        shared = self.decoders == "shared"
        return ModelShape(decoder=self.tag_head, shared=shared, head=head, reversal=reversal)


@dataclass(frozen=True)
class FitContext:
    """The model, the data and the state that the iterations of a training run share."""

    model: TaggingModel
    batcher: Batcher
    sources: Sequence[SourceDomain]
    state: TrainingState
    from_base: bool = False  # the encoder is a copy of another base's

    def task_groups(self, tasks: Sequence[Task]) -> list[Sequence[Task]]:
        """The tasks in groups that run side by side: all of them or each alone (see ``Encoder``)."""
        if self.model.encoder.side_by_side:
            return [tasks]
        return [[task] for task in tasks]

    def batches(
        self, *groups: tuple[Sequence[Sequence[Sentence]], Sequence[int]]
    ) -> tuple[list[Batch], torch.Tensor | None]:
        """A batch for each (sentences of the tasks, domains of the tasks), and the rows of a trained
        word table that they read, for ``model.stacked`` and ``model.add_gradients``."""
        batches = [
            self.batcher(tasks, [self.model.labels_of(d) for d in domains]).to(
                self.model.encoder.device
            )
            for tasks, domains in groups
        ]
        rows = rows_in_use(self.model.encoder, batches)
        return [restrict_batch(batch, rows) for batch in batches], rows

    def loss_function(
        self, batch: Batch, domains: Sequence[int], config: SourceConfig, aux_weight: float
    ) -> LossFunction:
        """The losses of a batch as a function of the parameters, with dropout."""
        return lambda parameters: self.model.losses(
            parameters,
            batch,
            domains,
            aux_weight=aux_weight,
            per_token=config.per_token,
            noise=self.state.noise,
        )


class SourcePretrainedMethod(Method):
    Config: ClassVar[type[MethodConfig]] = SourceConfig
    config: SourceConfig
    trains_language_model: ClassVar[bool] = False  # that of an encoder that has one

    @abstractmethod
    def iteration(self, context: FitContext) -> Iteration:
        """A function that sets ``.grad`` for one iteration and returns its metrics."""

    def min_domains(self) -> int:
        return 1

    def rates(self, model: TaggingModel, from_base: bool) -> dict[nn.Parameter, float]:
        """Factors of the learning rate of parameters for which it is not 1."""
        return model.encoder.rates()

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
        assert vectors is None or start is None
        config = self.config
        if start is not None:
            config = config.model_copy(update={"encoder": start.model.encoder.config})
        self._check(config, sources)
        generator = torch.Generator().manual_seed(seed)
        model, batcher = build_model(sources, config, vectors, seed, generator, start)
        if run is not None and run.device is not None:
            model.to(run.device)
        initial = {n: p.detach().clone() for n, p in model.encoder.named_parameters()}
        sentences = (s for d in sources for s in d.sentences)
        vocabulary = ActiveVocabulary(model.encoder, batcher, sentences)
        rates = self.rates(model, start is not None)
        optimiser = Optimiser(model.parameters(), config.outer_optimiser(), rates)
        noise = noise_generator(generator, model.encoder.device)
        state = TrainingState(model, optimiser, random.Random(seed), noise)
        if self.trains_base:
            context = FitContext(model, vocabulary.batcher, sources, state, start is not None)
            iterate = self.iteration(context)
        else:  # the run without iterations creates its folder
            iterate, budget = _no_iteration, Budget(0)
        run_training(state, iterate, budget, run or TrainingRun())
        vocabulary.restore()
        facts: dict[str, Any] = {
            "iterations": state.done,
            "seed": seed,
            "vectors": _vectors(model.encoder, vectors is not None or start is not None),
            "sources": [_source_facts(d) for d in sources],
            "encoder_change": model.encoder.distance(initial),  # ‖θ − θ at the start‖
        }
        if start is not None:
            facts["start"] = {"method": start.method, **start.facts}
        folder = None if start is None else start.folder  # to link its vectors when saving
        made_from = None if start is None else start.provenance
        return Base(
            model,
            batcher,
            self.name,
            config.model_dump(mode="json"),
            facts,
            folder,
            provenance=Provenance.trained(self.name, [d.name for d in sources], made_from),
        )

    def _check(self, config: SourceConfig, sources: Sequence[SourceDomain]) -> None:
        if getattr(config.encoder, "language_model_width", 0) and not self.trains_language_model:
            raise BadConfiguration(
                field="encoder.language_model_width",
                reason=f"{self.name} learns no language model; stm-elmo does",
            )
        minimum = self.min_domains()
        if len(sources) < minimum:
            needed = f"at least {('one', 'two')[minimum - 1]}"
            raise TooFewDomains(found=len(sources), method=self.name, needed=needed)


def _source_facts(source: SourceDomain) -> dict[str, Any]:
    return {
        "domain": source.name,
        "sentences": len(source.sentences),
        "removed": source.removed,
        "sha256": source.sha256,
    }


def _vectors(encoder: Encoder, given: bool) -> str:
    """The origin of the word vectors, as the base's facts record it."""
    if encoder.kind == "transformer":
        return "pretrained"
    return "given" if given else "random"


def step_metrics(
    losses: Losses,
    remark: str = "",
    tasks: list[dict[str, Any]] | None = None,
    **numbers: float,
) -> StepMetrics:
    """The means of the tasks' losses, other ``numbers``, and the loss with ``remark`` for the display."""
    metrics = {"label": float(losses.label.mean()), **numbers}
    if losses.aux is not None:
        metrics["aux"] = float(losses.aux.mean())
    loss = float(losses.total.mean())
    return StepMetrics(loss, metrics, f"loss {loss:.2f}{remark}", tasks)


def _no_iteration(iteration: int) -> StepMetrics:
    return StepMetrics(0.0)


def build_model(
    sources: Sequence[SourceDomain],
    config: SourceConfig,
    vectors: WordVectors | None,
    seed: int,
    generator: torch.Generator,
    start: Base | None = None,
) -> tuple[TaggingModel, Batcher]:
    """A new model of the sources, and its batcher.

    The encoder is a copy of that of ``start`` or new. A new one reads ``vectors`` or, without them,
    trains random vectors of the sources' words."""
    if start is not None:
        encoder, batcher = copy.deepcopy(start.model.encoder), start.batcher
    else:
        sentences = [s for d in sources for s in d.sentences]
        encoder, batcher = new_encoder(config.encoder, sentences, vectors, seed, generator)
    domains = {d.name: LabelSet(d.labels.labels, config.scheme) for d in sources}
    return TaggingModel(encoder, domains, generator, config.shape()), batcher
