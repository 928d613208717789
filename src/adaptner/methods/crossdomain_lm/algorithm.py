"""Jia2019's Algorithm 1: NER and language modelling on source and target, one update a step."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

from adaptner.adaptation.joint_training import add_target_domain
from adaptner.adaptation.loop import AdaptationObjective
from adaptner.corpora.sentence_stream import SentenceStream, endless_batches
from adaptner.methods.crossdomain_lm.config import CrossDomainConfig
from adaptner.methods.crossdomain_lm.network import LM, NER, CrossDomainNetwork, DomainTaskStep
from adaptner.methods.crossdomain_lm.parameter_generator import ParameterGenerator
from adaptner.methods.families.raw_text import text_or_labelled
from adaptner.nn.encoders.embeddings import TrainableEmbeddings
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.losses.sampled_softmax import LanguageModelInput, NegativeSampler, OutputWordTable
from adaptner.training.budget import Budget
from adaptner.training.optimiser import Optimiser, sparse_rows
from adaptner.training.vocabulary import Vocabulary
from adaptner.types import LabelSet, Sentence

StepData = tuple[list[DomainTaskStep], list[list[Sentence]]]  # the tasks and the sentences of each


class CrossDomainObjective(AdaptationObjective):
    """The parameter generation network. Domains are numbered as in its model: the sources, then the
    target."""

    config: CrossDomainConfig

    def build(self) -> None:
        base, config = self.base, self.config
        self.target_domain = len(self.sources)
        self.corpora = [*self.sources.values(), self.target.sentences]
        self.texts = self._texts()
        self.vocabulary = Vocabulary.of(self.texts, max_words=config.vocabulary)
        self._sampling = self.generator  # stays on the CPU
        self._samplers = [NegativeSampler(counts) for counts in self.vocabulary.counts]
        model = add_target_domain(self, shared=config.zero_shot)
        encoder = model.encoder
        assert isinstance(encoder, RecurrentEncoder)
        recurrent = ParameterGenerator(
            encoder.recurrent,
            len(self.corpora),
            2,
            self.generator,
            config.domain_size,
            config.task_size,
        )
        if config.zero_shot and config.near_start:
            recurrent.place_near(self.target_domain, range(self.target_domain))
        if base.facts.get("iterations") or base.provenance.parent:  # the base's encoder is trained
            recurrent.to(encoder.device).start_from(encoder.recurrent)
        hidden = encoder.recurrent.width // 2
        words = (
            OutputWordTable(len(self.vocabulary), hidden, self.generator) if self.texts else None
        )
        self.network = CrossDomainNetwork(model, recurrent, words).to(model.encoder.device)
        self.encoder, self.decoder = encoder, model.decoder_of(self.target_domain)

    def stages(self, budget: Budget) -> Iterator[Budget]:
        self._steps = self.steps()
        yield budget

    def steps(self) -> Iterator[StepData]:
        """The tasks and sentences of every step; the same for every iterator."""
        streams: dict[tuple[int, int], Iterator[list[Sentence]]] = {}
        iteration = 1
        while True:
            tasks, sentences = self.tasks(iteration), []
            for task in tasks:
                key = task.domain, task.task
                if key not in streams:
                    rng = random.Random(f"{self.request.seed} {key}")
                    streams[key] = endless_batches(self._data(task), self.config.batch, rng)
                sentences.append(next(streams[key]))
            yield tasks, sentences
            iteration += 1

    def tasks(self, iteration: int) -> list[DomainTaskStep]:
        """The tasks of Algorithm 1 in its order. Several sources take turns from step to step."""
        config, target = self.config, self.target_domain
        source = (iteration - 1) % max(target, 1)
        both = (NER, LM) if self.texts else (NER,)
        tasks = []
        if config.data != "target":
            tasks += [DomainTaskStep(source, task, config.source_weight, source) for task in both]
        of_target = both[1:] if config.zero_shot else both
        tasks += [DomainTaskStep(target, task, 1.0, target) for task in of_target]
        return tasks

    def compute_gradients(self, parameters: Sequence[nn.Parameter]) -> float:
        tasks, sentences = next(self._steps)
        return float(self.weighted(tasks, self.step_gradients(tasks, sentences)).sum())

    def step_gradients(
        self, tasks: Sequence[DomainTaskStep], sentences: Sequence[list[Sentence]]
    ) -> Tensor:
        """Lines 3 to 16: set ``.grad`` by all tasks of a step and return their unweighted losses,
        (tasks,). The update (line 17) is the loop's."""
        model = self.network.model
        labels = [model.labels_of(t.decoder) if t.task == NER else LabelSet(()) for t in tasks]
        batch = self.batcher(sentences, labels).to(model.encoder.device)
        inputs = [
            None
            if task.task == NER
            else LanguageModelInput(
                self.vocabulary.numbers(sentences[place], batch, place),
                self._samplers[self._text_number(task.domain)]
                .draw(self.config.negatives, self._sampling)
                .to(batch.mask.device),
            )
            for place, task in enumerate(tasks)
        ]
        losses, tables = self.network.losses(tasks, batch, inputs, self.generator)
        stacked = torch.stack(losses)
        self.weighted(tasks, stacked).sum().backward()
        for table in tables:
            assert table.values.grad is not None
            table.parameter.grad = sparse_rows(table.parameter, table.rows, table.values.grad)
        return stacked.detach()

    def weighted(self, tasks: Sequence[DomainTaskStep], losses: Tensor) -> Tensor:
        """λ_d λ_t times the loss of each task."""
        lm_weight = self.config.lm_weight
        return losses * losses.new_tensor(
            [task.weight * (lm_weight if task.task == LM else 1.0) for task in tasks]
        )

    def optimiser(self) -> Optimiser:
        """The decoders have the full rate; the encoder, W and the language models' table have the
        encoder's."""
        config, network = self.config, self.network
        assert isinstance(self.encoder, RecurrentEncoder)
        generated = set(self.encoder.recurrent.parameters())
        parameters = [p for p in network.parameters() if p not in generated]
        decoders = set(network.model.decoder.parameters())
        scale = {p: 1.0 if p in decoders else config.encoder_scale for p in parameters}
        if config.optimiser.name == "adamw":
            # AdamW changes each number of W by about the rate, and a generated parameter by the sum of
            # these changes: about E|I_u| = sqrt(3 / U) / 2 for each of the U entries of an embedding,
            # and likewise for V.
            sizes = [n for n in (config.domain_size, config.task_size) if n]
            scale[network.recurrent.weight] = config.encoder_scale / math.prod(
                math.sqrt(3 * n) / 2 for n in sizes
            )
        sparse: list[nn.Parameter] = [] if network.words is None else [network.words.table]
        if isinstance(self.encoder.words, TrainableEmbeddings):
            sparse.append(self.encoder.words.table)
        return Optimiser(parameters, config.optimiser, scale, sparse=sparse, fused=True)

    def finish(self, steps: int) -> None:
        self.network.install_generated(self.target_domain)

    def sentences(self) -> list[Sentence]:
        return [*self.target.sentences, *self.source_sentences]

    def extra_words(self) -> Iterable[str]:
        return self.vocabulary.read

    def facts(self) -> dict[str, object]:
        return {
            "source_sentences": len(self.source_sentences),
            "unlabelled": self.vocabulary.sentences[-1] if self.texts else 0,
        }

    def _texts(self) -> list[SentenceStream]:
        """The text that the language model of each domain reads; empty without language models."""
        config = self.config
        if config.data == "ner":
            return []
        request = self.request
        target = config.text_of_target(text_or_labelled(request.unlabelled, request.support))
        if config.data == "target":
            return [target]
        texts = [*config.texts_of_sources(self.sources.values()), target]
        if config.mixed_text:
            return [SentenceStream(tuple(texts), None, config.max_words)] * len(texts)
        return texts

    def _data(self, task: DomainTaskStep) -> Iterable[Sentence]:
        if task.task == LM:
            return self.texts[self._text_number(task.domain)]
        return self.corpora[task.domain]

    def _text_number(self, domain: int) -> int:
        """Without tasks of the sources, the target's text is the only one."""
        return domain if len(self.texts) > 1 else 0
