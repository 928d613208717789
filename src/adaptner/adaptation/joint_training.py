"""Joint steps with target and sources from a source-trained base: AGG, MultiTask and DANN.

Every step has one labelled batch of the target and ``source_tasks`` of the sources, so the target
is seen as often as in fine-tuning; what the sources cost on top shows in the seconds of a row.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from typing import Literal, Self

import torch
from pydantic import Field, model_validator

from adaptner.adaptation.decoder_start import keep_known_tags, tag_decoders
from adaptner.adaptation.descent import SentenceBatches, take_steps
from adaptner.adaptation.fine_tune import FineTuneConfig, adaptation_facts
from adaptner.adaptation.target import TargetData
from adaptner.bilevel import group_gradients
from adaptner.errors import TooFewSentences
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.prototypes import PrototypeDecoder
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary, restrict_batch, rows_in_use
from adaptner.nn.model import Losses, ModelShape, TaggingModel
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget, Clock
from adaptner.types import LabelSet, Sentence

TARGET = "the target"
TEXT = 1  # the discriminator's class of target text; 0 is that of source text


class JointConfig(FineTuneConfig):
    decoder: Literal["fresh"] = "fresh"
    freeze_decoder: Literal[False] = False
    source_tasks: int = Field(3, ge=1, description="source batches beside each target batch")
    source_weight: float = Field(1.0, ge=0, description="of the mean source loss")
    aux_weight: float = Field(0.0, ge=0, description="λ, DANN's adversary; 0 leaves it out")
    zero_shot: bool = Field(False, description="no labelled sentence of the target (DANN)")

    @model_validator(mode="after")
    def _zero_shot_needs_the_adversary(self) -> Self:
        if self.zero_shot and not self.aux_weight:
            raise ValueError("zero_shot needs aux_weight: nothing else is learnt of the target")
        return self


def train_jointly(
    base: Base,
    sentences: Sequence[Sentence],
    sources: Mapping[str, Sequence[Sentence]],
    config: JointConfig,
    *,
    shared: bool = False,
    labels: LabelSet | None = None,
    unlabelled: Iterable[Sentence] = (),
    budget: Budget | None = None,
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> Tagger:
    """``sources``: labelled sentences of the base's own domains. ``shared``: one φ over all labels
    (AGG), else each domain has its own and the target a new one. ``unlabelled``: text of the target
    for the adversary; the labelled sentences serve where there is none.

    Zero-shot (Jia2019's DANN): the adversary's text is all there is of the target, of ``sentences``
    too, and the sources' φ is the tagger's."""
    pool = [s for own in sources.values() for s in own]
    text = [s.without_entities() for s in unlabelled if len(s)]
    if config.zero_shot:
        target, shared = TargetData.unseen(base, sources, labels), True
        text = text or [s.without_entities() for s in sentences if len(s)]
        if not text:
            raise TooFewSentences(
                found=0, what="the target's raw text", needed=1, option="--unlabelled TEXT"
            )
    else:
        target = TargetData.of(base, sentences, labels)
        text = text or [s.without_entities() for s in target.sentences]
    budget = budget or Budget(config.steps_for(len(target.sentences) or len(pool)))
    generator = torch.Generator().manual_seed(seed)
    rng = random.Random(seed)
    adversary = config.aux_weight > 0
    model = add_target_domain(base, list(sources), target.labels, shared, adversary, generator)
    goal = len(sources)  # the target's number among the domains
    table = ActiveVocabulary(model.encoder, base.batcher, [*target.sentences, *pool, *text])
    optimiser = config.optimiser_of(
        model.encoder, [p for n, p in model.named_parameters() if not n.startswith("encoder.")]
    )
    size = min(config.batch, len(target.sentences) or config.batch)
    own_batches = SentenceBatches(target.sentences, size, rng)
    text_batches = SentenceBatches(text, size, rng)
    domains = list(sources)
    source_batches = [SentenceBatches(sources[d], size, rng) for d in domains]
    clock, done = Clock(), 0

    def fill() -> float:
        nonlocal done
        drawn = [rng.randrange(len(domains)) for _ in range(config.source_tasks)]
        tasks = [] if config.zero_shot else [own_batches.next()]
        own = len(tasks)
        tasks += [source_batches[d].next() for d in drawn]
        numbers = [*[goal] * own, *drawn]
        weights = [*[1.0] * own, *[config.source_weight / len(drawn)] * len(drawn)]
        classes = [*[TEXT] * own, *[1 - TEXT] * len(drawn)]
        # half of the adversary's loss a side
        says = [*[0.0] * own, *[0.5 / len(drawn)] * len(drawn)]
        if adversary:  # its target text is no labelled batch: the decoder learns nothing of it
            tasks.append(text_batches.next())
            numbers, weights = [*numbers, goal], [*weights, 0.0]
            classes, says = [*classes, TEXT], [*says, 0.5]
        # Tasks run side by side: one with fewer sentences than a batch has them more than once.
        tasks = [list(islice(cycle(task), size)) for task in tasks]
        batch = table.batcher(tasks, [model.labels_of(n) for n in numbers])
        rows = rows_in_use(model.encoder, [batch])
        start = {n: p.requires_grad_() for n, p in model.stacked(numbers, rows).items()}
        losses = model.losses(
            start, restrict_batch(batch, rows), numbers, classes=classes, noise=generator
        )
        label = losses.label * torch.tensor(weights)
        if losses.aux is None:
            shares = Losses(label, None, label)
        else:
            aux = losses.aux * torch.tensor(says)
            scale = config.aux_weight * adversary_ramp(clock.share_spent(budget, done))
            shares = Losses(label, aux, label + scale * aux)
        done += 1
        gradients = group_gradients(shares, start)
        ones = torch.ones(len(numbers))
        model.add_gradients(
            numbers, gradients, {"encoder": ones, "decoder": ones, "head": ones}, rows
        )
        return float(shares.total.detach().sum())

    steps = take_steps(fill, optimiser, budget, progress)
    table.restore()
    facts = adaptation_facts(base, target, steps, seed) | {
        "source_sentences": len(pool),
        "unlabelled": len(text) if adversary else 0,
    }
    return Tagger(
        model.encoder, model.decoder_of(goal), base.batcher, base.method, facts, base.folder
    )


def adversary_ramp(share: float) -> float:
    """Ganin and Lempitsky 2015: the adversary comes in slowly, 0 at the start, 1 at the end."""
    return 2 / (1 + math.exp(-10 * share)) - 1


def add_target_domain(
    base: Base,
    domains: list[str],
    labels: LabelSet,
    shared: bool,
    adversary: bool,
    generator: torch.Generator,
) -> TaggingModel:
    """The base with one more domain: what it knows of each source's tags is kept."""
    encoder = copy.deepcopy(base.model.encoder)
    own = {d: base.model.labels_of(base.model.domains.index(d)) for d in domains}
    head = "attention" if adversary else "none"
    kind = base.model.shape.decoder
    shape = ModelShape(decoder=kind, shared=shared, head=head, reversal=adversary)
    model = TaggingModel(encoder, {**own, TARGET: labels}, generator, shape, classes=2)
    for number, domain in enumerate(domains):
        known = base.model.decoder_of(base.model.domains.index(domain))
        mine = model.decoder_of(number)
        assert not isinstance(known, PrototypeDecoder)
        assert not isinstance(mine, PrototypeDecoder)
        keep_known_tags(mine, [known])
    last = model.decoder_of(len(domains))
    if base.model.shape.shared and not shared:  # the target's tags are known already
        assert not isinstance(last, PrototypeDecoder)
        keep_known_tags(last, tag_decoders(base))
    return model
