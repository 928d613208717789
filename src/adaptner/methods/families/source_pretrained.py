"""What every method that learns from source domains does: build θ, φ and ω, iterate, keep a base."""

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

from adaptner.corpora.sources import SourceDomain
from adaptner.errors import BadConfiguration, TooFewDomains
from adaptner.methods.base import Method, MethodConfig
from adaptner.models.base import Base
from adaptner.models.provenance import Provenance
from adaptner.nn.batching.batch import Batch, Batcher
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary, restrict_batch, rows_in_use
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.recurrent import EncoderConfig
from adaptner.nn.encoders.registry import AnyEncoderConfig, new_encoder
from adaptner.nn.model import ModelShape, TaggingModel
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
    """What learning from sources can be told, whatever the method."""

    k: int = Field(10, ge=1, description="support and query sentences a task; T' of the target")
    tasks: int = Field(4, ge=1, description="m, tasks an iteration")
    decoders: Literal["own", "shared"] = Field(
        "own", description="a φ for each domain, or one for all (homogeneous setting)"
    )
    tag_head: Literal["crf", "softmax"] = Field(
        "crf", description="φ: a CRF, or a fully connected layer alone (HGDA*)"
    )
    scheme: TagScheme = Field("bio", description="tags inside: bio or bioes")
    per_token: bool = Field(False, description="mean over tokens instead of sum per sentence")
    # AdamW, as MetaBioNER has it: it gets further in minutes than HGDA's SGD
    # (docs/results/adaptation.md). The recipes in reproduce/tables/recipes have the paper's SGD.
    optimiser: OptimiserConfig = Field(
        OptimiserConfig(name="adamw", rate=2e-3), description="outer; SGD's rate comes from eq. 3"
    )
    encoder: AnyEncoderConfig = EncoderConfig()

    def outer_optimiser(self) -> OptimiserConfig:
        return self.optimiser

    def shape(self) -> ModelShape:
        return ModelShape(decoder=self.tag_head, shared=self.decoders == "shared")


@dataclass(frozen=True)
class FitContext:
    """What the iterations of a run work on."""

    model: TaggingModel
    batcher: Batcher
    sources: Sequence[SourceDomain]
    state: TrainingState
    started: bool = False  # θ is that of another base

    def parts(self, tasks: Sequence[Task]) -> list[Sequence[Task]]:
        """The tasks that are run at once: all, or one after another (see ``Encoder``)."""
        if self.model.encoder.side_by_side:
            return [tasks]
        return [[task] for task in tasks]

    def batches(
        self, *groups: tuple[Sequence[Sequence[Sentence]], Sequence[int]]
    ) -> tuple[list[Batch], torch.Tensor | None]:
        """A batch for each (tasks, their domains), and the rows of a tuned word table that they
        read: ``model.stacked`` and ``model.add_gradients`` want to know."""
        made = [
            self.batcher(tasks, [self.model.labels_of(d) for d in domains])
            for tasks, domains in groups
        ]
        rows = rows_in_use(self.model.encoder, made)
        return [restrict_batch(batch, rows) for batch in made], rows

    def objective(
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
    learns: ClassVar[bool] = True  # False: the base is as it was made
    contextual: ClassVar[bool] = False  # teaches the encoder's language model, where it has one

    @abstractmethod
    def iteration(self, scene: FitContext) -> Iteration:
        """The function that fills ``.grad`` once and reports."""

    def least_domains(self) -> int:
        return 1

    def rates(self, model: TaggingModel, started: bool) -> dict[nn.Parameter, float]:
        """Parameters that learn at so many times the optimiser's rate."""
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
        if getattr(config.encoder, "language_model_width", 0) and not self.contextual:
            raise BadConfiguration(
                field="encoder.language_model_width",
                reason=f"{self.name} learns no language model; stm-elmo does",
            )
        least = self.least_domains()
        if len(sources) < least:
            needed = f"at least {('one', 'two')[least - 1]}"
            raise TooFewDomains(found=len(sources), method=self.name, needed=needed)
        generator = torch.Generator().manual_seed(seed)
        model, batcher = build_model(sources, config, vectors, seed, generator, start)
        table = ActiveVocabulary(model.encoder, batcher, (s for d in sources for s in d.sentences))
        rates = self.rates(model, start is not None)
        optimiser = Optimiser(model.parameters(), config.outer_optimiser(), rates)
        state = TrainingState(model, optimiser, random.Random(seed), generator)
        if self.learns:
            scene = FitContext(model, table.batcher, sources, state, start is not None)
            iterate = self.iteration(scene)
        else:  # the folder of the run is made all the same
            iterate, budget = _idle, Budget(0)
        run_training(state, iterate, budget, run or TrainingRun())
        table.restore()
        facts: dict[str, Any] = {
            "iterations": state.done,
            "seed": seed,
            "vectors": _vectors(model.encoder, vectors is not None or start is not None),
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
        if start is not None:
            facts["start"] = {"method": start.method, **start.facts}
        folder = None if start is None else start.folder  # its vectors can be linked
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


def _vectors(encoder: Encoder, given: bool) -> str:
    """Where the word vectors come from; a transformer has none but its own."""
    if encoder.kind == "transformer":
        return "pretrained"
    return "given" if given else "random"


def _idle(iteration: int) -> StepMetrics:
    return StepMetrics(0.0)


def build_model(
    sources: Sequence[SourceDomain],
    config: SourceConfig,
    vectors: WordVectors | None,
    seed: int,
    generator: torch.Generator,
    start: Base | None = None,
) -> tuple[TaggingModel, Batcher]:
    """θ over the given vectors (or tuned random ones over the sources' words), or as ``start`` has
    it; φ and ω."""
    if start is not None:
        encoder, batcher = copy.deepcopy(start.model.encoder), start.batcher
    else:
        sentences = [s for d in sources for s in d.sentences]
        encoder, batcher = new_encoder(config.encoder, sentences, vectors, seed, generator)
    domains = {d.name: LabelSet(d.labels.labels, config.scheme) for d in sources}
    return TaggingModel(encoder, domains, generator, config.shape()), batcher
