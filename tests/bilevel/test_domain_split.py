"""MetaNER's bilevel step and a whole iteration against a naive transcription of the equations."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from bilevel_cases import SOURCES, WORDS, toy
from builders import random_tensor as noise
from naive_metaner import Found, Task, chain
from naive_tagger import (
    Lexicon,
    Values,
    domain_loss,
    gradient,
    label_loss,
    leaves,
    under,
    values_of,
)

from adaptner.bilevel import DomainBatch, DomainSplit, DomainSplitStep, LossFunction
from adaptner.episodes import TaskSource
from adaptner.methods.families.source_pretrained import FitContext, build_model
from adaptner.methods.metaner import MetaNER
from adaptner.nn.losses.gradient_reversal import reverse_gradient
from adaptner.nn.model import Losses, Parameters, TaggingModel
from adaptner.training.checkpoint import TrainingState
from adaptner.training.optimiser import Optimiser
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import WordVectors

CLOSE = {"atol": 1e-9, "rtol": 0.0}
steps = pytest.mark.parametrize("steps", [1, 2, 3])
variants = pytest.mark.parametrize(
    ("new_only", "maml"), [(False, False), (True, False), (False, True), (True, True)]
)
with_and_without = pytest.mark.parametrize("adversary", [True, False])


def assert_found(step: DomainSplitStep, chains: Sequence[Found], theta_moves: float = 1e-3) -> None:
    """``step`` equals separate chains. ``theta_moves`` is the minimum of the largest encoder gradient."""
    for g, alone in enumerate(chains):
        assert step.losses.label[g].item() == pytest.approx(alone.label, abs=1e-9)
        total = alone.label
        if alone.dis is None:
            assert step.losses.aux is None
        else:
            assert step.losses.aux is not None
            assert step.losses.aux[g].item() == pytest.approx(alone.dis, abs=1e-9)
            total += alone.dis
        assert step.losses.total[g].item() == pytest.approx(total, abs=1e-9)
        expected = {**alone.theta, **alone.phi, **alone.gamma}
        assert set(step.gradients) == set(expected)
        for name, value in expected.items():
            ours = step.gradients[name][g]
            inside = tuple(slice(0, n) for n in value.shape)  # φ is padded to the largest label set
            torch.testing.assert_close(ours[inside], value, **CLOSE, msg=name)
            assert ours.abs().sum().item() == pytest.approx(ours[inside].abs().sum().item())
        for part in (alone.theta, alone.phi, alone.gamma):
            assert not part or max(v.abs().max() for v in part.values()) > theta_moves


# --- the smooth toy -------------------------------------------------------------------------------

CHAINS = 3


def reversed_(plain: LossFunction) -> LossFunction:
    """The encoder affects the second loss only through the reversal, as with a discriminator."""

    def losses(p: Parameters) -> Losses:
        aux = plain({**p, "encoder.a": reverse_gradient(p["encoder.a"])}).aux
        label = plain(p).label
        assert aux is not None
        return Losses(label, aux, label + aux)

    return losses


def toy_tasks(adversary: bool, count: int) -> list[tuple[LossFunction, Parameters]]:
    """Loss functions of ``count`` tasks per chain, each with a different decoder and head."""
    found = []
    for number in range(count):
        first, second, _ = toy(0.4 if adversary else None, CHAINS, curvature=0.1 * number)
        fixed = {"decoder.b": noise(CHAINS, 1, 2, seed=40 + number)}
        if adversary:
            fixed["head.c"] = noise(CHAINS, 2, seed=50 + number)
        found.append(((first, second)[number % 2], fixed))
    return found


def toy_task_of(g: int, plain: LossFunction, fixed: Parameters) -> Task:
    """The task of chain g alone; values of other chains must have no influence."""

    def alone(p: Values) -> Losses:
        filled = {
            n: torch.stack([v if i == g else 0 * v for i in range(CHAINS)]) for n, v in p.items()
        }
        return plain(filled)

    gamma = {n: v[g] for n, v in fixed.items() if n.startswith("head.")}
    phi = {n: v[g] for n, v in fixed.items() if n.startswith("decoder.")}
    blank_gamma = {n: 0 * v for n, v in gamma.items()}
    blank_phi = {n: 0 * v for n, v in phi.items()}
    return Task(
        lambda theta, phi: alone({**theta, **phi, **blank_gamma}).label[g],
        phi,
        (lambda theta, gamma: alone({**theta, **blank_phi, **gamma}).aux[g]) if gamma else None,
        gamma or None,
    )


@steps
@with_and_without
@variants
def test_smooth_toy_equals_the_equations(steps, adversary, new_only, maml):
    tasks = toy_tasks(adversary, steps + 1)
    theta = {"encoder.a": noise(CHAINS, 3, seed=1)}
    rate, weight = 0.3, 0.7
    split = DomainSplit(rate, weight, new_only, maml)
    chosen = [DomainBatch(reversed_(f) if adversary else f, fixed) for f, fixed in tasks]
    found = split(chosen[1:], chosen[0], theta)
    chains = []
    for g in range(CHAINS):
        own = [toy_task_of(g, f, fixed) for f, fixed in tasks]
        start = {n: v[g] for n, v in theta.items()}
        chains.append(chain(own[1:], own[0], start, rate, weight, new_only, maml))
    assert_found(found, chains)


def test_variants_and_numbers_of_steps_give_different_updates():
    """Otherwise the tests above would pass for one and the same update."""
    tasks = toy_tasks(True, 4)
    chosen = [DomainBatch(reversed_(f), fixed) for f, fixed in tasks]
    theta = {"encoder.a": noise(CHAINS, 3, seed=1)}
    seen: list[DomainSplitStep] = []
    for new_only, maml, count in (
        (False, False, 1),
        (True, False, 1),
        (False, True, 1),
        (False, False, 2),
        (False, False, 3),
    ):
        found = DomainSplit(0.3, 0.7, new_only, maml)(chosen[1 : 1 + count], chosen[0], theta)
        for other in seen:
            gaps = [(found.gradients[n] - other.gradients[n]).abs().max() for n in found.gradients]
            assert max(gaps) > 1e-3
        seen.append(found)
    plain, new_only_, maml_ = seen[:3]
    # θ(new) instead of θ(old) changes only the decoder, the MAML update only the encoder
    for step, changed in ((new_only_, "decoder.b"), (maml_, "encoder.a")):
        for name in {"encoder.a", "decoder.b", "head.c"} - {changed}:
            assert torch.equal(plain.gradients[name], step.gradients[name])


def test_arguments_are_not_changed():
    tasks = toy_tasks(True, 3)
    theta = {"encoder.a": noise(CHAINS, 3, seed=1)}
    chosen = [DomainBatch(reversed_(f), fixed) for f, fixed in tasks]
    before = [{n: v.clone() for n, v in p.items()} for p in (theta, *(fixed for _, fixed in tasks))]
    found = DomainSplit(0.3, 0.7)(chosen[1:], chosen[0], theta)
    after = (theta, *(fixed for _, fixed in tasks))
    for b, a in zip(before, after, strict=True):
        assert all(torch.equal(b[n], a[n]) and not a[n].requires_grad for n in a)
    assert not any(g.requires_grad for g in found.gradients.values())
    assert not found.losses.total.requires_grad


# --- a real tagging model -------------------------------------------------------------------------

VOCABULARY = (*WORDS, "never")
TABLE = np.random.default_rng(3).normal(size=(6, 3)).astype(np.float32)
VECTORS = WordVectors(VOCABULARY, TABLE)
ENCODER = {
    "char_embedding": 3,
    "char_cnn_widths": (2, 3),
    "char_cnn_filters": 2,
    "hidden": 2,
    "dropout": 0.0,
}
# Far from the defaults, so that each setting affects the results.
CONFIG: dict[str, Any] = {
    "k": 2,
    "tasks": 3,
    "inner_rate": 0.3,
    "aux_weight": 0.6,
    "encoder": ENCODER,
    "optimiser": {
        "name": "sgd",
        "rate": 0.5,
        "momentum": 0.0,
        "weight_decay": 0.0,
        "clip": 1e9,
        "schedule": "constant",
    },
}


def set_up(method: MetaNER, seed: int) -> tuple[FitContext, Lexicon]:
    config = method.config
    generator = torch.Generator().manual_seed(seed)
    model, batcher = build_model(SOURCES, config, VECTORS, seed, generator)
    optimiser = Optimiser(model.double().parameters(), config.outer_optimiser())
    state = TrainingState(model, optimiser, random.Random(seed), generator)
    return FitContext(model, batcher, SOURCES, state), Lexicon(VOCABULARY, TABLE, batcher.alphabet)


class NaiveModel:
    """Parameters of a model, and the losses of its tasks by the naive tagger."""

    def __init__(self, model: TaggingModel, lexicon: Lexicon, per_token: bool = False) -> None:
        self.values = values_of(model)
        self.lexicon = lexicon
        self.shared = model.shape.shared
        self.tags = [d.labels.tags for d in model.decoder]
        self.per_token = per_token

    def number(self, domain: int) -> int:
        return 0 if self.shared else domain

    def theta(self) -> Values:
        return {n: v for n, v in self.values.items() if n.startswith("encoder.")}

    def phi(self, domain: int) -> Values:
        return under(self.values, f"decoder.{self.number(domain)}.")

    def gamma(self) -> Values:
        return under(self.values, "head.")

    def task(self, sentences: Sequence[Sentence], domain: int) -> Task:
        tags = self.tags[self.number(domain)]
        share = len(sentences) / sum(map(len, sentences)) if self.per_token else 1.0

        def label(theta: Values, phi: Values) -> torch.Tensor:
            return share * label_loss(theta, phi, tags, self.lexicon, sentences)

        def dis(theta: Values, gamma: Values) -> torch.Tensor:
            return domain_loss(theta, gamma, domain, self.lexicon, sentences)

        gamma = self.gamma()
        return Task(label, self.phi(domain), dis if gamma else None, gamma or None)

    def descend(self, name: str, rate: float, slope: torch.Tensor) -> None:
        self.values[name] = self.values[name] - rate * slope

    def algorithm_1(
        self,
        held: int,
        validation: Sequence[Sequence[Sentence]],
        training: Sequence[Sequence[tuple[int, Sequence[Sentence]]]],
        config: Any,
    ) -> list[Found]:
        """Lines 5 to 22, with means instead of sums over the meta batch."""
        found = []
        for j, sentences in enumerate(validation):
            found.append(
                chain(
                    [self.task(own, domain) for domain, own in training[j]],
                    self.task(sentences, held),
                    self.theta(),
                    config.inner_rate,
                    config.aux_weight,
                    config.new_only,
                    config.maml_update,
                )
            )
        beta = config.optimiser.rate / len(found)
        for alone in found:
            for name, slope in alone.theta.items():
                self.descend(name, beta, slope)
            for name, slope in alone.phi.items():
                self.descend(f"decoder.{self.number(held)}.{name}", beta, slope)
            for name, slope in alone.gamma.items():
                self.descend(f"head.{name}", beta, slope)
        return found


@pytest.mark.parametrize(
    ("steps", "adversary", "new_only", "maml"),
    [
        (1, True, False, False),
        (2, True, False, False),
        (3, True, False, False),
        (2, True, True, False),
        (2, True, False, True),
        (2, False, False, False),
        (2, False, False, True),
    ],
)
def test_tagging_model_equals_the_equations(steps, adversary, new_only, maml):
    """Chains of different domains at once, some with more labels than others."""
    method = MetaNER(**{**CONFIG, "adversary": adversary})
    scene, lexicon = set_up(method, seed=0)
    model, naive = scene.model, NaiveModel(scene.model, lexicon)
    rng = random.Random(1)
    domains = [[rng.randrange(3) for _ in range(3)] for _ in range(steps + 1)]
    domains[0] = [1, 0, 2]
    groups = [[rng.sample(SOURCES[d].sentences, 2) for d in own] for own in domains]

    def chosen(sentences: list[list[Sentence]], own: list[int]) -> DomainBatch:
        batch = scene.batcher(sentences, [model.labels_of(d) for d in own])
        fixed = {n: p for n, p in model.stack_tasks(own).items() if not n.startswith("encoder.")}
        return DomainBatch(lambda p: model.losses(p, batch, own), fixed)

    tasks = [chosen(s, d) for s, d in zip(groups, domains, strict=True)]
    theta = {n: p for n, p in model.stack_tasks([0, 0, 0]).items() if n.startswith("encoder.")}
    found = DomainSplit(0.3, 0.6, new_only, maml)(tasks[1:], tasks[0], theta)
    chains = []
    for g in range(3):
        own = [naive.task(s[g], d[g]) for s, d in zip(groups, domains, strict=True)]
        alone = chain(own[1:], own[0], naive.theta(), 0.3, 0.6, new_only, maml)
        alone = replace(
            alone,
            phi={f"decoder.{n}": v for n, v in alone.phi.items()},
            gamma={f"head.{n}": v for n, v in alone.gamma.items()},
        )
        chains.append(alone)
    assert_found(found, chains)


# --- a whole iteration ----------------------------------------------------------------------------


def tasks_drawn(method: MetaNER, rng: random.Random) -> tuple[int, list, list[list]]:
    """The number of D_val, and the meta-validation and meta-training tasks of each chain."""
    config = method.config
    source = TaskSource([d.corpora for d in SOURCES], config.k)
    held = rng.randrange(len(SOURCES))
    rest = [d for d in range(len(SOURCES)) if d != held]
    chosen = [[rng.choice(rest) for _ in range(config.tasks)] for _ in range(config.inner_steps)]
    validation = [source.sample_sentences(held, rng) for _ in range(config.tasks)]
    training = [[(d, source.sample_sentences(d, rng)) for d in own] for own in chosen]
    return held, validation, [list(own) for own in zip(*training, strict=True)]


CASES: dict[str, dict[str, Any]] = {
    "as published": {},
    "two steps": {"inner_steps": 2},
    "one decoder": {"decoders": "shared", "inner_steps": 2},
    "bio, one decoder": {"decoders": "shared", "scheme": "bio"},
    "loss per token": {"per_token": True},
    "no adversary": {"adversary": False, "inner_steps": 2},
    "theta(new) only": {"new_only": True},
    "MAML update": {"maml_update": True},
    "no character CNN": {"encoder": {**ENCODER, "char_cnn_filters": 0}},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "tuned"),
    [*((case, True) for case in CASES), ("as published", False), ("one decoder", False)],
)
def test_iteration_equals_algorithm_1(case, tuned):
    options = {**CONFIG, **CASES[case]}
    options["encoder"] = {**options["encoder"], "tune_words": tuned}
    method = MetaNER(**options)
    scene, lexicon = set_up(method, seed=2)
    model, naive = scene.model, NaiveModel(scene.model, lexicon, method.config.per_token)
    iterate = method.iteration(scene)
    rng = random.Random(2)
    shared = method.config.decoders == "shared"
    held_out = set()
    for iteration in (1, 2):
        held, validation, training = tasks_drawn(method, rng)
        held_out.add(held)
        start = values_of(model)
        chains = naive.algorithm_1(held, validation, training, method.config)

        report = iterate(iteration)
        # the inner loop changes no initial parameter
        between = values_of(model)
        assert all(torch.equal(between[n], start[n]) for n in start)
        mean = sum(alone.label for alone in chains) / len(chains)
        assert report.metrics["label"] == pytest.approx(mean, abs=1e-9)
        if method.config.adversary:
            aux = sum(alone.dis or 0.0 for alone in chains) / len(chains)
            assert report.metrics["aux"] == pytest.approx(aux, abs=1e-9)
            assert report.loss == pytest.approx(mean + aux, abs=1e-9)
        assert report.metrics["held_out"] == held
        untaught = {
            n
            for n, p in model.named_parameters()
            if n.startswith("decoder.") and not (shared or n.startswith(f"decoder.{held}."))
        }
        assert {n for n, p in model.named_parameters() if p.grad is None} == untaught

        scene.state.optimiser.step(0.0)
        after = values_of(model)
        assert set(after) == set(naive.values)
        for name, value in after.items():
            torch.testing.assert_close(value, naive.values[name], **CLOSE, msg=name)
            moved = (value - start[name]).abs().max().item()
            assert (moved == 0) if name in untaught else (moved > 1e-7), name
        if tuned:  # no sentence contains this word
            row = VOCABULARY.index("never")
            name = "encoder.words.table"
            assert torch.equal(after[name][row], start[name][row])
    assert len(held_out) == 2  # two decoders were updated


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("adversary", [True, False])
def test_adversary_without_meta_learning_has_the_same_direction(shared, adversary):
    """Plain training: encoder by L_tr - λ L_dis, decoder by L_tr, discriminator by L_dis."""
    decoders = "shared" if shared else "own"
    method = MetaNER(**{**CONFIG, "meta": False, "adversary": adversary, "decoders": decoders})
    scene, lexicon = set_up(method, seed=3)
    naive = NaiveModel(scene.model, lexicon)
    source, rng = TaskSource([d.corpora for d in SOURCES], 2), random.Random(3)
    drawn = [source.sample(rng) for _ in range(3)]
    slopes: Values = {}

    def add(name: str, slope: torch.Tensor) -> None:
        slopes[name] = slopes.get(name, 0) + slope / len(drawn)

    for chosen in drawn:
        task = naive.task([*chosen.support, *chosen.query], chosen.domain)
        theta, phi = leaves(naive.theta()), leaves(task.phi)
        label = task.label(theta, phi)
        by_label = gradient(label, theta)
        for name, slope in by_label.items():
            add(name, slope)
        for name, slope in gradient(label, phi).items():
            add(f"decoder.{naive.number(chosen.domain)}.{name}", slope)
        if task.dis is not None:
            gamma = leaves(task.gamma)
            dis = task.dis(theta, gamma)
            for name, slope in gradient(dis, theta).items():
                add(name, -CONFIG["aux_weight"] * slope)
            for name, slope in gradient(dis, gamma).items():
                add(f"head.{name}", slope)
    method.iteration(scene)(1)
    for name, p in scene.model.named_parameters():
        if name in slopes:
            torch.testing.assert_close(p.grad[0], slopes[name], **CLOSE, msg=name)
        else:
            assert p.grad is None
    assert any(name.startswith("head.") for name in slopes) == adversary
