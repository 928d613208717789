"""Loss functions (a smooth toy and a tiny tagging model) and source domains for tests of bilevel optimisation."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import torch
from builders import random_tensor, sentence
from torch import Tensor
from torch.nn import functional as F

from adaptner.bilevel import LossFunction
from adaptner.corpora.sources import SourceDomain
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import Losses, ModelShape, Parameters, TaggingModel, group_of
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

Case = tuple[LossFunction, LossFunction, Parameters]  # support, query, start


def toy(aux_weight: float | None = 0.4, tasks: int = 3, curvature: float = 0.0) -> Case:
    """Labelling depends on encoder and decoder, classification on encoder and head, both through softplus;
    each task has its own data. ``curvature`` adds a quadratic term that makes the losses strongly convex."""

    def objective(seed: int) -> LossFunction:
        by_theta = random_tensor(tasks, 6, 3, seed=seed)
        by_phi = random_tensor(tasks, 6, 2, seed=seed + 1)
        by_omega = random_tensor(tasks, 6, 2, seed=seed + 2)
        centre = random_tensor(tasks, 3, seed=seed + 3)

        def losses(p: Parameters) -> Losses:
            theta, phi = p["encoder.a"], p["decoder.b"].flatten(1)
            seen = torch.einsum("gnd,gd->gn", by_theta, theta)
            label = F.softplus(seen + torch.einsum("gnd,gd->gn", by_phi, phi)).mean(1)
            label = label + curvature * ((theta - centre).square().sum(1) + phi.square().sum(1))
            if aux_weight is None:
                return Losses(label, None, label)
            omega = p["head.c"]
            aux = F.softplus(torch.einsum("gnd,gd->gn", by_omega, omega) - seen).mean(1)
            aux = aux + curvature * omega.square().sum(1)
            return Losses(label, aux, label + aux_weight * aux)

        return losses

    start = {
        "encoder.a": random_tensor(tasks, 3, seed=1),
        "decoder.b": random_tensor(tasks, 1, 2, seed=2),
    }
    if aux_weight is not None:
        start["head.c"] = random_tensor(tasks, 2, seed=3)
    return objective(10), objective(20), start


def random_corpus(labels: tuple[str, ...], seed: int) -> list[Sentence]:
    """Nine sentences of one to four words; three have no mention."""
    rng = random.Random(seed)
    sentences = []
    for number in range(9):
        length = rng.randint(1, 4)
        tokens = [rng.choice((*WORDS, "Gene", "p53", "Ras")) for _ in range(length)]
        tokens[-1] = f"s{seed}{number}"  # all sentences differ
        tags = ["O"] * length
        if number % 4:
            first, label = rng.randrange(length), rng.choice(labels)
            end = min(length, first + rng.randint(1, 3))
            tags[first:end] = [f"B-{label}"] + [f"I-{label}"] * (end - first - 1)
        sentences.append(Sentence.from_tokens(tokens, tags))
    return sentences


WORDS = ("the", "of", "gene", "dose", "cell")
SOURCES = [
    SourceDomain("gene", LabelSet(("G",)), {f"g{n}": random_corpus(("G",), n) for n in (1, 2)}, {}),
    SourceDomain("drug", LabelSet(("D", "E")), {"d": random_corpus(("D", "E"), 3)}, {}),
    SourceDomain("species", LabelSet(("S",)), {"s": random_corpus(("S",), 4)}, {}),
]
SUPPORT = [
    [sentence("the p53 gene", "O B-G I-G"), sentence("none", "O")],
    [sentence("aspirin 5 mg daily", "B-D B-E I-E O"), sentence("take aspirin", "O B-D")],
]
QUERY = [
    [sentence("a gene", "O B-G"), sentence("p53 is p53", "B-G O B-G")],
    [sentence("5 mg", "B-E I-E"), sentence("aspirin or the gene", "B-D O O O")],
]


def tagger(aux_weight: float = 0.4, recurrent: str = "lstm") -> Case:
    """Two tasks of domains with different label sets, frozen vectors, no dropout, float64."""
    words = ("the", "gene", "p53", "aspirin", "mg")
    table = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    batcher = WordBatcher(WordVectors(words, table), "aegimnprst53")
    g = torch.Generator().manual_seed(0)
    config = EncoderConfig(
        char_embedding=2, char_cnn_filters=2, char_lstm=2, hidden=2, recurrent=recurrent
    )
    labels = {"gene": LabelSet(("G",)), "drug": LabelSet(("D", "E"))}
    encoder = RecurrentEncoder(config, batcher, g)
    model = TaggingModel(encoder, labels, g, ModelShape(head="mean")).double()
    domains = [0, 1]

    def objective(tasks: list[list[Sentence]]) -> LossFunction:
        batch = batcher(tasks, list(labels.values()))
        return lambda p: model.losses(p, batch, domains, aux_weight=aux_weight)

    return objective(SUPPORT), objective(QUERY), model.stack_tasks(domains)


def own_loss(losses: Losses, name: str) -> Tensor:
    """The loss that a parameter descends on: total, labelling or classification loss."""
    by_group = {"encoder": losses.total, "decoder": losses.label, "head": losses.aux}
    loss = by_group[group_of(name)]
    assert loss is not None
    return loss


def descended(
    support: LossFunction, start: Parameters, steps: int, rate: float, proximal: float = 0.0
) -> Parameters:
    """Algorithm 2, lines 2 to 9, one group after another."""
    current = dict(start)
    for _ in range(steps):
        after = {}
        for group in ("encoder", "decoder", "head"):
            names = [n for n in current if group_of(n) == group]
            if not names:
                continue
            leaves = {n: p.detach().clone().requires_grad_() for n, p in current.items()}
            loss = own_loss(support(leaves), names[0])
            found = torch.autograd.grad(loss.sum(), [leaves[n] for n in names])
            for name, gradient in zip(names, found, strict=True):
                pulled = gradient + proximal * (current[name] - start[name])
                after[name] = current[name] - rate * pulled
        current = {n: after[n] for n in current}
    return current


def slopes(
    function: Callable[[Parameters], Losses], at: Parameters, name: str, towards: Tensor
) -> Tensor:
    """(G,) central difference of a parameter's loss along a direction, for all tasks."""
    step = 1e-5
    ahead = function({**at, name: at[name] + step * towards})
    behind = function({**at, name: at[name] - step * towards})
    return (own_loss(ahead, name) - own_loss(behind, name)).detach() / (2 * step)


def assert_is_gradient(
    gradients: Parameters,
    function: Callable[[Parameters], Losses],
    at: Parameters,
    tolerance: float = 1e-7,
    directions: int = 2,
) -> None:
    assert set(gradients) == set(at)
    largest = 0.0
    for number, (name, value) in enumerate(at.items()):
        for i in range(directions):
            towards = random_tensor(*value.shape, seed=1000 * number + i)
            expected = slopes(function, at, name, towards)
            found = (gradients[name] * towards).flatten(1).sum(1)
            torch.testing.assert_close(found, expected, atol=tolerance, rtol=1e-5, msg=name)
            largest = max(largest, float(expected.abs().max()))
    assert largest > 1e3 * tolerance  # otherwise the test could not fail
