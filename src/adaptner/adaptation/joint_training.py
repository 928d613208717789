"""Steps over the target and the sources together: AGG, MultiTask and DANN.

Every step has one labelled batch of the target and ``source_tasks`` of the sources, so that the target
is read as often as in fine-tuning. What the sources cost in addition shows in the seconds of a run.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice
from typing import ClassVar, Self

from pydantic import Field, model_validator
from torch import Tensor, nn

from adaptner.adaptation.decoder_start import keep_known_tags
from adaptner.adaptation.fine_tune import FreshDecoderConfig
from adaptner.adaptation.loop import AdaptationObjective
from adaptner.adaptation.sentence_batches import SentenceBatches
from adaptner.bilevel import group_gradients
from adaptner.nn.decoders.prototypes import PrototypeDecoder
from adaptner.nn.encoders.active_vocabulary import restrict_batch, rows_in_use
from adaptner.nn.model import Losses, ModelShape, ParameterGroup, Parameters, TaggingModel
from adaptner.training.budget import Budget, Clock
from adaptner.types import Sentence

TARGET = "the target"
SOURCE_CLASS, TARGET_CLASS = 0, 1  # of the discriminator


class JointConfig(FreshDecoderConfig):
    source_tasks: int = Field(3, ge=1, description="Source batches in a step.")
    source_weight: float = Field(1.0, ge=0, description="Weight of the mean source loss.")
    aux_weight: float = Field(
        0.0, ge=0, description="Weight λ of DANN's domain discriminator; 0 leaves it out."
    )
    zero_shot: bool = Field(False, description="Use no labelled sentence of the target (DANN).")

    @model_validator(mode="after")
    def _zero_shot_needs_the_adversary(self) -> Self:
        if self.zero_shot and not self.aux_weight:
            raise ValueError("zero_shot needs aux_weight: nothing else is learnt of the target")
        return self


@dataclass(frozen=True)
class JointTask:
    """The sentences of one domain in a step, and the weights of their two losses."""

    sentences: list[Sentence]
    domain: int
    label_weight: float
    domain_class: int
    aux_weight: float


class JointTraining(AdaptationObjective):
    """The label losses of target and sources and, if ``config.aux_weight`` is positive, the loss of a
    discriminator of source and target sentences behind a gradient reversal.

    With ``zero_shot`` the discriminator's text is all that is known of the target, and the decoder of
    the sources becomes the tagger's."""

    config: JointConfig
    shared: ClassVar[bool] = False  # one decoder over the labels of all domains

    def build(self) -> None:
        config = self.config
        self.text = self.request.target_text()
        self.has_adversary = config.aux_weight > 0
        self.model = add_target_domain(
            self, shared=self.shared or config.zero_shot, adversary=self.has_adversary
        )
        self.target_domain = len(self.sources)
        self.encoder = self.model.encoder
        self.decoder = self.model.decoder_of(self.target_domain)
        self.size = min(config.batch, len(self.target.sentences) or config.batch)
        self.target_batches, self.text_batches, *self.source_batches = (
            SentenceBatches(sentences, self.size, self.rng)
            for sentences in (self.target.sentences, self.text, *self.sources.values())
        )

    def sentences(self) -> list[Sentence]:
        return [*self.target.sentences, *self.source_sentences, *self.text]

    def other_parameters(self) -> list[nn.Parameter]:
        return [p for n, p in self.model.named_parameters() if not n.startswith("encoder.")]

    def stages(self, budget: Budget) -> Iterator[Budget]:
        self._budget, self._clock, self._steps = budget, Clock(), count()
        yield budget

    def tasks(self) -> list[JointTask]:
        """The tasks of the next step: the target's first, the discriminator's target text last."""
        config, target = self.config, self.target_domain
        domains = [self.rng.randrange(target) for _ in range(config.source_tasks)]
        tasks = []
        if not config.zero_shot:
            tasks.append(JointTask(self.target_batches.next(), target, 1.0, TARGET_CLASS, 0.0))
        for domain in domains:
            tasks.append(
                JointTask(
                    self.source_batches[domain].next(),
                    domain,
                    config.source_weight / len(domains),
                    SOURCE_CLASS,
                    0.5 / len(domains),  # half of the discriminator's loss is for each side
                )
            )
        if self.has_adversary:
            tasks.append(JointTask(self.text_batches.next(), target, 0.0, TARGET_CLASS, 0.5))
        return tasks

    def losses(self) -> tuple[Losses, list[int], Parameters, Tensor | None]:
        """The weighted losses of the next step's tasks, their domains, the stacked parameters and the
        rows of the encoder's table that are in use."""
        tasks = self.tasks()
        domains = [task.domain for task in tasks]
        # Tasks run side by side, so one with too few sentences repeats them.
        sentences = [list(islice(cycle(task.sentences), self.size)) for task in tasks]
        batch = self.batcher(sentences, [self.model.labels_of(d) for d in domains])
        batch = batch.to(self.encoder.device)
        rows = rows_in_use(self.encoder, [batch])
        point = {n: p.requires_grad_() for n, p in self.model.stack_tasks(domains, rows).items()}
        losses = self.model.losses(
            point,
            restrict_batch(batch, rows),
            domains,
            classes=[task.domain_class for task in tasks],
            noise=self.generator,
        )
        label = losses.label * losses.label.new_tensor([task.label_weight for task in tasks])
        aux, total = None, label
        if losses.aux is not None:
            aux = losses.aux * losses.aux.new_tensor([task.aux_weight for task in tasks])
            share = self._clock.share_spent(self._budget, next(self._steps))
            total = label + self.config.aux_weight * adversary_ramp(share) * aux
        return Losses(label, aux, total), domains, point, rows

    def compute_gradients(self, parameters: Sequence[nn.Parameter]) -> float:
        """Of the total loss for the encoder, of the label loss for the decoders, of the
        discriminator's own loss for the discriminator."""
        losses, domains, point, rows = self.losses()
        ones = losses.total.new_ones(len(domains))
        weights: dict[ParameterGroup, Tensor] = {"encoder": ones, "decoder": ones, "head": ones}
        self.model.add_gradients(domains, group_gradients(losses, point), weights, rows)
        return float(losses.total.detach().sum())

    def facts(self) -> dict[str, object]:
        return {
            "source_sentences": len(self.source_sentences),
            "unlabelled": len(self.text) if self.has_adversary else 0,
        }


class SharedJointTraining(JointTraining):
    shared = True


def adversary_ramp(share: float) -> float:
    """The factor of the discriminator's weight after ``share`` of the budget, from 0 to nearly 1
    (Ganin and Lempitsky 2015)."""
    return 2 / (1 + math.exp(-10 * share)) - 1


def add_target_domain(
    objective: AdaptationObjective, *, shared: bool = False, adversary: bool = False
) -> TaggingModel:
    """A model of the objective's source domains, whose decoders are copied from the base, and of the
    target after them."""
    base, domains = objective.base, list(objective.sources)
    numbers = [base.model.domains.index(d) for d in domains]
    label_sets = {d: base.model.labels_of(n) for d, n in zip(domains, numbers, strict=True)}
    shape = ModelShape(
        decoder=base.model.shape.decoder,
        shared=shared,
        head="attention" if adversary else "none",
        reversal=adversary,
    )
    label_sets[TARGET] = objective.target.labels
    encoder = copy.deepcopy(base.model.encoder)
    model = TaggingModel(encoder, label_sets, objective.generator, shape, classes=2)
    copied = [(number, base.model.decoder_of(n)) for number, n in enumerate(numbers)]
    if base.model.shape.shared and not shared:  # the base's decoder may know tags of the target
        copied.append((len(domains), base.model.decoder_of(0)))
    for number, source in copied:
        decoder = model.decoder_of(number)
        assert not isinstance(source, PrototypeDecoder)
        assert not isinstance(decoder, PrototypeDecoder)
        keep_known_tags(decoder, [source])
    return model
