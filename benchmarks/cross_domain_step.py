"""Jia2019's joint step against four plain BiLSTM steps, and NSSoftmax against the full softmax, in one
run on one thread.

    .venv/bin/python benchmarks/cross_domain_step.py

CoNLL03 -> BioNLP13PC with GloVe 100-d and the paper's sizes (the package's own corpora where those are
absent): batch 30 a task, SGD as in the paper and AdamW. A plain step has an encoder of its own, the same
sentences and the same output layer, CRF or NSSoftmax, and the same kind of update. Both sides are timed
in turns, so that what else the machine does falls on both. The last lines printed are ``joint ratio``
(at most 1.5 is wanted) and ``softmax ratio`` (at least 10).
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import sys
import time
from itertools import islice
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
from torch.nn import functional as F

from adaptner.adaptation.loop import restrict_vocabulary
from adaptner.adaptation.request import AdaptRequest
from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.methods import method
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainObjective
from adaptner.methods.crossdomain_lm.config import CrossDomainConfig
from adaptner.methods.crossdomain_lm.network import LM, NER
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
from adaptner.types import LabelSet
from adaptner.vectors.word_vectors import read_vectors

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
OWN = ROOT / "src/adaptner/corpora/bundled"


def scene(optimiser: OptimiserConfig) -> CrossDomainObjective:
    real = (SHARED / "data/news/conll03", SHARED / "data/bio-extra/bionlp13pc")
    source, target = real if all(p.is_dir() for p in real) else (OWN / "drug", OWN / "gene")
    glove = SHARED / "vectors/glove-6b-100d.npy"
    vectors = read_vectors(glove) if glove.is_file() else None
    sources = source_domains(group_by_domain([load_corpus(source)]))
    chosen = method("crossdomain-lm")()
    base = chosen.fit(sources, Budget(0), vectors=vectors)
    train = load_corpus(target).split("train")
    config = CrossDomainConfig(batch=30, optimiser=optimiser)
    labelled = chosen.labelled(base, sources)
    objective = CrossDomainObjective(base, AdaptRequest(train), config, labelled)
    restrict_vocabulary(objective)
    return objective


class Plain:
    """One task alone: its own encoder, CRF or word table, and optimiser."""

    def __init__(self, joint: CrossDomainObjective, turn, optimiser: OptimiserConfig) -> None:
        network = joint.network
        self.joint, self.turn = joint, turn
        self.encoder = copy.deepcopy(network.model.encoder)
        self.decoder = copy.deepcopy(network.model.decoder_of(turn.decoder))
        self.words = copy.deepcopy(network.words)
        self.noise = torch.Generator().manual_seed(0)
        self.negatives = NegativeSampler(joint.vocabulary.counts[turn.domain])
        head = self.decoder if turn.task == NER else self.words
        sparse = [self.encoder.words.table] + ([self.words.table] if turn.task == LM else [])
        parameters = [*self.encoder.parameters(), *head.parameters()]
        self.optimiser = Optimiser(parameters, optimiser, sparse=sparse, fused=True)

    def step(self, sentences) -> None:
        encoder, turn = self.encoder, self.turn
        labels = self.decoder.labels if turn.task == NER else LabelSet(())
        batch = self.joint.batcher([sentences], [labels])
        rows = rows_in_use(encoder, [batch])
        leaves = [EmbeddingRows.of(encoder.words.table, rows)]
        parameters = dict(encoder.named_parameters())
        parameters["words.table"] = leaves[0].values[None]
        states = torch.func.functional_call(
            encoder, parameters, (restrict_batch(batch, rows), self.noise)
        )
        if turn.task == NER:
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
    joint = scene(optimiser)
    plain = [Plain(joint, turn, optimiser) for turn in joint.tasks(1)]
    joint_optimiser = joint.optimiser()
    ours, theirs = [], []
    for iteration, (tasks, drawn) in enumerate(islice(joint.steps(), steps + 3), 1):
        begun = time.perf_counter()
        joint.step_gradients(tasks, drawn)
        joint_optimiser.step(0.0)
        between = time.perf_counter()
        for task, sentences in zip(plain, drawn, strict=True):
            task.step(sentences)
        if iteration > 3:  # warm
            ours.append(between - begun)
            theirs.append(time.perf_counter() - between)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    print(
        f"{name}: W has {joint.network.recurrent.weight.numel():,} numbers; a joint step "
        f"{1000 * statistics.median(ours):.0f} ms, four plain steps "
        f"{1000 * statistics.median(theirs):.0f} ms; ratio {ratio:.2f}"
    )
    return ratio


def softmax_ratio(rounds: int, words: int = 100_000, tokens: int = 600, width: int = 100) -> float:
    """Loss and gradients of one direction of a batch, both with the same states and targets."""
    generator = torch.Generator().manual_seed(0)
    table = OutputWordTable(words, width, generator).table
    counts = 1 / torch.arange(1, words + 1).double()  # Zipf
    negatives = NegativeSampler(counts)
    sampled, full = [], []
    for _ in range(rounds + 1):
        states = torch.randn(tokens, width, generator=generator, requires_grad=True)
        wanted = torch.multinomial(counts, tokens, replacement=True, generator=generator)
        begun = time.perf_counter()
        drawn = negatives.draw(50, generator)
        known = torch.cat([wanted, drawn]).unique()
        leaf = EmbeddingRows.of(table, known)
        place = torch.searchsorted(known, wanted), torch.searchsorted(known, drawn)
        sampled_softmax_losses(states, leaf.values, *place).sum().backward()
        table.grad = sparse_rows(table, known, leaf.values.grad)
        between = time.perf_counter()
        table.grad = None
        scores = torch.addmm(table[:, -1], states, table[:, :-1].T)
        F.cross_entropy(scores, wanted, reduction="sum").backward()
        full.append(time.perf_counter() - between)
        sampled.append(between - begun)
        table.grad = None
    one, other = (statistics.median(times[1:]) for times in (sampled, full))
    print(
        f"{words:,} words, {tokens} tokens, 50 negatives: NSSoftmax {1000 * one:.2f} ms, "
        f"full softmax {1000 * other:.0f} ms"
    )
    return other / one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
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
