"""Compares crossdomain-lm with simpler computations on one thread: its joint step with four steps of
plain BiLSTMs, and its sampled softmax (NSSoftmax) with the full softmax.

    .venv/bin/python benchmarks/cross_domain_step.py

The setting is CoNLL03 to BioNLP13PC with 100-d GloVe vectors (or corpora of the package, if these are
missing), the sizes of the paper and 30 sentences per task, with SGD as in the paper and with AdamW. A
plain step has an encoder for itself, but the same sentences, output layer (CRF or NSSoftmax) and update.
Both sides are timed in turns, so that other load affects both. The last lines are ``joint ratio`` and
``softmax ratio``; the exit code is 1 if they are above 1.5 and below 10.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Sequence
from itertools import islice

import torch
from common import SHARED, shared_corpus, shared_vectors
from torch.nn import functional as F

from adaptner.adaptation.loop import restrict_vocabulary
from adaptner.adaptation.request import AdaptRequest
from adaptner.compute import prepare_process
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import source_domains
from adaptner.methods import method
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainObjective
from adaptner.methods.crossdomain_lm.config import CrossDomainConfig
from adaptner.methods.crossdomain_lm.network import LM, NER, DomainTaskStep
from adaptner.nn.encoders.active_vocabulary import restrict_batch, rows_in_use
from adaptner.nn.losses.sampled_softmax import (
    EDGE,
    EmbeddingRows,
    NegativeSampler,
    OutputWordTable,
    language_model_loss,
    sampled_softmax_losses,
)
from adaptner.training.budget import Budget
from adaptner.training.optimiser import Optimiser, OptimiserConfig, sparse_rows
from adaptner.types import LabelSet, Sentence


def joint_objective(optimiser: OptimiserConfig) -> CrossDomainObjective:
    if (SHARED / "data").is_dir():
        source, target = shared_corpus("news/conll03"), shared_corpus("bio-extra/bionlp13pc")
        vectors = shared_vectors("glove-6b-100d.npy")
    else:
        source, target, vectors = bundled_corpus("drug"), bundled_corpus("gene"), None
    sources = source_domains(group_by_domain([source]))
    learner = method("crossdomain-lm")()
    base = learner.fit(sources, Budget(0), vectors=vectors)
    config = CrossDomainConfig(batch=30, optimiser=optimiser)
    request = AdaptRequest(target.split("train"))
    objective = CrossDomainObjective(base, request, config, learner.labelled(base, sources))
    restrict_vocabulary(objective)
    return objective


class PlainTask:
    """One domain and task with an encoder, an output layer and an optimiser for itself."""

    def __init__(
        self, joint: CrossDomainObjective, task: DomainTaskStep, optimiser: OptimiserConfig
    ) -> None:
        network = joint.network
        self.joint, self.task = joint, task
        self.encoder = copy.deepcopy(network.model.encoder)
        self.decoder = copy.deepcopy(network.model.decoder_of(task.decoder))
        self.words = copy.deepcopy(network.words)
        self.noise = torch.Generator().manual_seed(0)
        self.negatives = NegativeSampler(joint.vocabulary.counts[task.domain])
        head = self.decoder if task.task == NER else self.words
        sparse = [self.encoder.words.table] + ([self.words.table] if task.task == LM else [])
        parameters = [*self.encoder.parameters(), *head.parameters()]
        self.optimiser = Optimiser(parameters, optimiser, sparse=sparse, fused=True)

    def step(self, sentences: Sequence[Sentence]) -> None:
        encoder, is_ner = self.encoder, self.task.task == NER
        labels = self.decoder.labels if is_ner else LabelSet(())
        batch = self.joint.batcher([sentences], [labels])
        rows = rows_in_use(encoder, [batch])
        leaves = [EmbeddingRows.of(encoder.words.table, rows)]
        parameters = dict(encoder.named_parameters())
        parameters["words.table"] = leaves[0].values[None]
        states = torch.func.functional_call(
            encoder, parameters, (restrict_batch(batch, rows), self.noise)
        )
        if is_ner:
            loss = self.decoder(states, batch.tags, batch.mask).mean()
        else:
            words = self.joint.vocabulary.numbers(sentences, batch, 0)
            negatives = self.negatives.draw(self.joint.config.negatives, self.noise)
            known = torch.cat([torch.tensor([EDGE]), words.flatten(), negatives]).unique()
            leaves.append(EmbeddingRows.of(self.words.table, known))
            values = leaves[-1].values
            loss = language_model_loss(states[0], words, batch.mask[0], values, known, negatives)
        loss.backward()
        for leaf in leaves:
            leaf.parameter.grad = sparse_rows(leaf.parameter, leaf.rows, leaf.values.grad)
        self.optimiser.step(0.0)


def joint_ratio(name: str, optimiser: OptimiserConfig, steps: int) -> float:
    joint = joint_objective(optimiser)
    plain = [PlainTask(joint, task, optimiser) for task in joint.tasks(1)]
    joint_optimiser = joint.optimiser()
    warm_up = 3
    joint_seconds, plain_seconds = [], []
    for iteration, (tasks, drawn) in enumerate(islice(joint.steps(), steps + warm_up), 1):
        start = time.perf_counter()
        joint.step_gradients(tasks, drawn)
        joint_optimiser.step(0.0)
        middle = time.perf_counter()
        for task, sentences in zip(plain, drawn, strict=True):
            task.step(sentences)
        if iteration > warm_up:
            joint_seconds.append(middle - start)
            plain_seconds.append(time.perf_counter() - middle)
    ratio = statistics.median(a / b for a, b in zip(joint_seconds, plain_seconds, strict=True))
    print(
        f"{name}: the joint step (W has {joint.network.recurrent.weight.numel():,} numbers) takes "
        f"{1000 * statistics.median(joint_seconds):.0f} ms, four plain steps "
        f"{1000 * statistics.median(plain_seconds):.0f} ms; ratio {ratio:.2f}"
    )
    return ratio


def softmax_ratio(rounds: int, words: int = 100_000, tokens: int = 600, width: int = 100) -> float:
    """Times loss and gradients of one direction of a batch, with the same states and targets."""
    generator = torch.Generator().manual_seed(0)
    table = OutputWordTable(words, width, generator).table
    counts = 1 / torch.arange(1, words + 1).double()  # Zipf
    negatives = NegativeSampler(counts)
    sampled, full = [], []
    for _ in range(rounds + 1):
        states = torch.randn(tokens, width, generator=generator, requires_grad=True)
        targets = torch.multinomial(counts, tokens, replacement=True, generator=generator)
        start = time.perf_counter()
        drawn = negatives.draw(50, generator)
        known = torch.cat([targets, drawn]).unique()
        known_rows = EmbeddingRows.of(table, known)
        positions = torch.searchsorted(known, targets), torch.searchsorted(known, drawn)
        sampled_softmax_losses(states, known_rows.values, *positions).sum().backward()
        table.grad = sparse_rows(table, known, known_rows.values.grad)
        middle = time.perf_counter()
        table.grad = None
        scores = torch.addmm(table[:, -1], states, table[:, :-1].T)
        F.cross_entropy(scores, targets, reduction="sum").backward()
        full.append(time.perf_counter() - middle)
        sampled.append(middle - start)
        table.grad = None
    sampled_seconds, full_seconds = (statistics.median(times[1:]) for times in (sampled, full))
    print(
        f"{words:,} words, {tokens} tokens, 50 negatives: NSSoftmax {1000 * sampled_seconds:.2f} ms, "
        f"full softmax {1000 * full_seconds:.0f} ms"
    )
    return full_seconds / sampled_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=20)
    steps = parser.parse_args().steps
    prepare_process()
    sgd = OptimiserConfig(name="sgd", rate=0.015, momentum=0.0, weight_decay=1e-8)
    adamw = OptimiserConfig(name="adamw", rate=1e-3)
    joint = joint_ratio("SGD", sgd, steps)
    joint_ratio("AdamW", adamw, steps)
    softmax = softmax_ratio(max(3, steps // 4))
    print(f"joint ratio: {joint:.2f}\nsoftmax ratio: {softmax:.0f}")
    sys.exit(joint > 1.5 or softmax < 10)


if __name__ == "__main__":
    main()
