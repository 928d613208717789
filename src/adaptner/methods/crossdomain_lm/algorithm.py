"""Jia2019's Algorithm 1: NER and language modelling on source and target, one update a step."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from adaptner.adaptation.fine_tune import FineTuneConfig, adaptation_facts
from adaptner.adaptation.joint_training import add_target_domain
from adaptner.adaptation.target import TargetData
from adaptner.corpora.sentence_stream import SentenceStream, endless_batches
from adaptner.methods.crossdomain_lm.network import LM, NER, CrossDomainNetwork, DomainTaskStep
from adaptner.methods.crossdomain_lm.parameter_generator import ParameterGenerator
from adaptner.methods.families.raw_text import RawTextConfig, text_or_labelled
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.active_vocabulary import ActiveVocabulary
from adaptner.nn.encoders.embeddings import TrainableEmbeddings
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.losses.sampled_softmax import LanguageModelInput, NegativeSampler, OutputWordTable
from adaptner.training.budget import Budget
from adaptner.training.checkpoint import TrainingState
from adaptner.training.loop import StepMetrics, TrainingRun, run_training
from adaptner.training.optimiser import Optimiser, sparse_rows
from adaptner.training.vocabulary import Vocabulary
from adaptner.types import LabelSet, Sentence


class CrossDomainConfig(RawTextConfig, FineTuneConfig):
    """Section 4.1, and the authors' published settings where the paper is silent (50 negatives).
    λ_d and λ_t are in neither: 1. Batch, steps and AdamW are those of all adaptation here; the
    paper's batch of 30 and SGD are in the recipe."""

    decoder: Literal["fresh"] = "fresh"
    freeze_decoder: Literal[False] = False
    domain_size: int = Field(8, ge=0, description="U, of I_domain; 0 leaves it out (CO-LM)")
    task_size: int = Field(8, ge=0, description="V, of I_task; 0 leaves it out (CO-NER)")
    data: Literal["all", "target", "ner"] = Field(
        "all", description="target: nothing of the sources (CO-LM); ner: no raw text (CO-NER)"
    )
    mixed_text: bool = Field(False, description="both language models read all text (MIX-DATA)")
    zero_shot: bool = Field(False, description="no labelled sentence of the target (unsupervised)")
    near_start: bool = Field(
        True, description="zero-shot: I_domain of the target begins as the sources', not at random"
    )
    source_weight: float = Field(1.0, ge=0, description="λ_d of the source; the target's is 1")
    lm_weight: float = Field(1.0, ge=0, description="λ_t of language modelling; NER's is 1")

    @model_validator(mode="after")
    def _zero_shot_needs_all(self) -> Self:
        if self.zero_shot and self.data != "all":
            raise ValueError("zero_shot needs data = 'all': labels and raw text of the sources")
        return self


def adapt_crossdomain_lm(
    base: Base,
    sentences: Sequence[Sentence],
    sources: Mapping[str, Sequence[Sentence]],
    config: CrossDomainConfig,
    *,
    labels: LabelSet | None = None,
    unlabelled: Iterable[Sentence] = (),
    budget: Budget | None = None,
    seed: int = 0,
    run: TrainingRun | None = None,
) -> Tagger:
    """``unlabelled``: raw text of the target, read again and again; where there is none, the labelled
    sentences serve. In zero-shot learning of ``sentences`` only the text is looked at."""
    if config.zero_shot:
        target = TargetData.unseen(base, sources, labels)
    else:
        target = TargetData.of(base, sentences, labels)
    text = text_or_labelled(unlabelled, sentences)
    scene = CrossDomainTraining(base, target, sources, text, config, seed)
    state, network = scene.state, scene.network
    stream: Iterator[list[list[Sentence]]] | None = None

    def iterate(iteration: int) -> StepMetrics:
        nonlocal stream
        if stream is None:  # a resumed run goes on where it stopped
            stream = islice(scene.steps(), iteration - 1, None)
        return scene.fill(iteration, next(stream))

    run_training(
        state, iterate, budget or Budget(config.steps_for(scene.epoch())), run or TrainingRun()
    )
    network.settle(scene.target_domain)
    scene.table.restore()
    facts = adaptation_facts(base, target, state.done, seed) | {
        "source_sentences": sum(map(len, sources.values())),
        "unlabelled": scene.text_sentences(),
    }
    decoder = network.model.decoder_of(scene.target_domain)
    return Tagger(network.model.encoder, decoder, base.batcher, base.method, facts, base.folder)


class CrossDomainTraining:
    """What the steps work on. Domains are numbered as the model does: the sources, then the target."""

    def __init__(
        self,
        base: Base,
        target: TargetData,
        sources: Mapping[str, Sequence[Sentence]],
        text: Iterable[Sentence],
        config: CrossDomainConfig,
        seed: int,
    ) -> None:
        self.config, self.seed, self.target = config, seed, target
        self.target_domain = len(sources)
        self.sources = list(sources.values())
        self.texts = _texts(text, self.sources, config)
        self.vocabulary = Vocabulary.of(self.texts, most=config.vocabulary)
        self._negatives = [NegativeSampler(counts) for counts in self.vocabulary.counts]
        generator = torch.Generator().manual_seed(seed)
        model = add_target_domain(
            base, list(sources), target.labels, config.zero_shot, False, generator
        )
        labelled = [s for own in (target.sentences, *self.sources) for s in own]
        self.table = ActiveVocabulary(model.encoder, base.batcher, labelled, self.vocabulary.read)
        assert isinstance(model.encoder, RecurrentEncoder)
        recurrent = ParameterGenerator(
            model.encoder.recurrent,
            len(sources) + 1,
            2,
            generator,
            config.domain_size,
            config.task_size,
        )
        if config.zero_shot and config.near_start:
            recurrent.place_near(self.target_domain, range(self.target_domain))
        if base.facts.get("iterations") or base.provenance.parent:  # something has been learnt
            recurrent.start_from(model.encoder.recurrent)
        hidden = model.encoder.recurrent.width // 2
        words = OutputWordTable(len(self.vocabulary), hidden, generator) if self.texts else None
        self.network = CrossDomainNetwork(model, recurrent, words)
        self.state = TrainingState(
            self.network, _optimiser(self.network, config), random.Random(seed), generator
        )

    def epoch(self) -> int:
        """The sentences that steps are counted by: the labelled ones of the target or, in zero-shot
        learning, of the sources."""
        return len(self.target.sentences) or sum(map(len, self.sources))

    def text_sentences(self) -> int:
        """Of the target's raw text."""
        return self.vocabulary.sentences[-1] if self.texts else 0

    def turns(self, iteration: int) -> list[DomainTaskStep]:
        """Those of Algorithm 1, in its order. Several sources take turns from step to step."""
        config, goal = self.config, self.target_domain
        source = (iteration - 1) % max(len(self.sources), 1)
        both = (NER, LM) if self.texts else (NER,)
        found = []
        if config.data != "target":
            found += [DomainTaskStep(source, task, config.source_weight, source) for task in both]
        own = both[1:] if config.zero_shot else both
        found += [DomainTaskStep(goal, task, 1.0, goal) for task in own]
        return found

    def steps(self) -> Iterator[list[list[Sentence]]]:
        """The sentences of every turn of step 1, 2, ...: the same whenever it is asked for."""
        size = self.config.batch
        streams: dict[tuple[int, int], Iterator[list[Sentence]]] = {}
        iteration = 1
        while True:
            drawn = []
            for turn in self.turns(iteration):
                key = turn.domain, turn.task
                if key not in streams:
                    rng = random.Random(f"{self.seed} {key}")
                    streams[key] = endless_batches(self._data(turn), size, rng)
                drawn.append(next(streams[key]))
            yield drawn
            iteration += 1

    def _data(self, turn: DomainTaskStep) -> Iterable[Sentence]:
        if turn.task == LM:
            return self.texts[self._text_of(turn.domain)]
        return (
            self.target.sentences
            if turn.domain == self.target_domain
            else self.sources[turn.domain]
        )

    def _text_of(self, domain: int) -> int:
        """Without source tasks there is the target's text only."""
        return domain if len(self.texts) > 1 else 0

    def fill(self, iteration: int, drawn: list[list[Sentence]]) -> StepMetrics:
        """Lines 3 to 16: the gradients of all turns; the update is the loop's."""
        turns, noise = self.turns(iteration), self.state.noise
        model = self.network.model
        label_sets = [model.labels_of(t.decoder) if t.task == NER else LabelSet(()) for t in turns]
        batch = self.table.batcher(drawn, label_sets)
        readings = [
            None
            if turn.task == NER
            else LanguageModelInput(
                self.vocabulary.numbers(drawn[place], batch, place),
                self._negatives[self._text_of(turn.domain)].draw(self.config.negatives, noise),
            )
            for place, turn in enumerate(turns)
        ]
        losses, leaves = self.network.losses(turns, batch, readings, noise)
        total = torch.stack([self._weight(t) * own for t, own in zip(turns, losses, strict=True)])
        total.sum().backward()
        for leaf in leaves:
            assert leaf.values.grad is not None
            leaf.parameter.grad = sparse_rows(leaf.parameter, leaf.rows, leaf.values.grad)
        value = float(total.detach().sum())
        metrics = {}
        for place, (turn, own) in enumerate(zip(turns, losses, strict=True)):
            side = "target" if turn.domain == self.target_domain else "source"
            metrics[f"{side}_{'lm' if turn.task == LM else 'ner'}"] = float(own.detach())
            if turn.task == LM:  # eq. 8 is a sum over tokens: per token, it is a perplexity
                tokens = int(batch.mask[place].sum()) / len(drawn[place])
                metrics[f"{side}_perplexity"] = float(torch.exp(own.detach() / tokens))
        return StepMetrics(value, metrics, f"loss {value:.2f}")

    def _weight(self, turn: DomainTaskStep) -> float:
        return turn.weight * (self.config.lm_weight if turn.task == LM else 1.0)


def _texts(
    own: Iterable[Sentence], sources: Sequence[Sequence[Sentence]], config: CrossDomainConfig
) -> list[SentenceStream]:
    """What each domain's language model reads; none where there are no such tasks."""
    if config.data == "ner":
        return []
    ours = config.text_of_target(own)
    if config.data == "target":
        return [ours]
    theirs = config.texts_of_sources(sources)
    if config.mixed_text:
        every = SentenceStream((*theirs, ours), None, config.max_words)
        return [every] * (len(sources) + 1)
    return [*theirs, ours]


def _optimiser(network: CrossDomainNetwork, config: CrossDomainConfig) -> Optimiser:
    """φ at the full rate; θ, W and the language models' table at that of an encoder."""
    theta = config.encoder_scale
    encoder = network.encoder
    unused = set(encoder.recurrent.parameters())
    parameters = [p for p in network.parameters() if p not in unused]
    decoders = set(network.model.decoder.parameters())
    scale = {p: 1.0 if p in decoders else theta for p in parameters}
    if config.optimiser.name == "adamw":
        # It moves every number of W by about the rate, and θ by the sum of what W moves by: about
        # E|I_u| = sqrt(3 / U) / 2 for each of the U entries of an embedding, V likewise.
        sizes = [n for n in (config.domain_size, config.task_size) if n]
        scale[network.recurrent.weight] = theta / math.prod(math.sqrt(3 * n) / 2 for n in sizes)
    sparse: list[nn.Parameter] = [] if network.words is None else [network.words.table]
    if isinstance(encoder.words, TrainableEmbeddings):
        sparse.append(encoder.words.table)
    return Optimiser(parameters, config.optimiser, scale, sparse=sparse, fused=True)
