"""Running tasks one after another gives the same step as running them at once."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from bilevel_cases import random_corpus
from torch import Tensor

from adaptner.bilevel import GradientAccumulator, Step, equal_weights, hardness_weights
from adaptner.corpora.sources import SourceDomain
from adaptner.episodes import TaskSource
from adaptner.methods import method
from adaptner.methods.families.source_pretrained import FitContext, build_model
from adaptner.nn.encoders.transformer.encoder import TransformerEncoder
from adaptner.nn.model import Losses, TaggingModel, group_of
from adaptner.training.checkpoint import TrainingState
from adaptner.training.optimiser import Optimiser, OptimiserConfig
from adaptner.types import LabelSet, Sentence

SOURCES = [
    SourceDomain("one", LabelSet(("A",)), {"a": random_corpus(("A",), 1)}, {}),
    SourceDomain("two", LabelSet(("B", "C")), {"b": random_corpus(("B", "C"), 2)}, {}),
]
SETTINGS: dict[str, Any] = {"k": 2, "tasks": 4, "aux_weight": 0.6, "inner_rate": 0.1}


def taken(
    name: str, folder: Path, settings: dict[str, Any]
) -> tuple[dict[str, Tensor], TaggingModel, Any, list[Any]]:
    """The gradients of one iteration, the model, the settings and the drawn tasks."""
    still = {"dropout": 0.0, "network_dropout": False, "max_length": 40, "overlap": 8}
    encoder = {"kind": "transformer", "name": str(folder), **still}
    chosen = method(name)(**{**SETTINGS, **settings, "encoder": encoder})
    model, batcher = build_model(SOURCES, chosen.config, None, 0, torch.Generator().manual_seed(0))
    model.double()
    optimiser = Optimiser(model.parameters(), OptimiserConfig())
    state = TrainingState(model, optimiser, random.Random(7), torch.Generator())
    chosen.iteration(FitContext(model, batcher, SOURCES, state))(1)
    rng = random.Random(7)
    source = TaskSource([d.corpora for d in SOURCES], 2, getattr(chosen.config, "sampling", "all"))
    drawn = [source.sample(rng) for _ in range(4)]
    found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    return found, model, (chosen.config, batcher), drawn


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("hgda", {}),
        ("hgda", {"tag_head": "softmax", "inner_steps": 2}),
        ("hgda", {"outer": "second"}),
        ("hgda-nes", {"tag_head": "softmax"}),
        ("finetuning", {}),
    ],
)
def test_tasks_one_after_another_give_the_same_step(tiny_transformer, name, settings, monkeypatch):
    if name == "finetuning":
        monkeypatch.setattr(f"{__name__}.SETTINGS", {"k": 2, "tasks": 4})
    found, *_ = taken(name, tiny_transformer, settings)
    monkeypatch.setattr(TransformerEncoder, "side_by_side", True)
    expected, *_ = taken(name, tiny_transformer, settings)
    assert found.keys() == expected.keys()
    for parameter, gradient in found.items():
        torch.testing.assert_close(gradient, expected[parameter], atol=1e-10, rtol=1e-7)


def test_step_equals_the_algorithm(tiny_transformer):
    """HGDA Algorithms 1 and 2, first order, for each task on a copy of the model."""
    found, model, (config, batcher), drawn = taken(
        "hgda", tiny_transformer, {"tag_head": "softmax"}
    )
    assert {task.domain for task in drawn} == {0, 1}
    every = []
    for task in drawn:
        own = copy.deepcopy(model)
        _, gradients = _losses(own, batcher, task.support, task.domain)
        with torch.no_grad():
            for p, g in zip(own.parameters(), gradients, strict=True):
                p.sub_(config.inner_rate * g)
        every.append(_losses(own, batcher, task.query, task.domain))
    sums = {group: sum(losses[group] for losses, _ in every) for group in every[0][0]}
    for place, (name, _) in enumerate(model.named_parameters()):
        group = group_of(name)
        truth = sum(losses[group] / sums[group] * gradients[place] for losses, gradients in every)
        if name in found:
            torch.testing.assert_close(found[name], truth, atol=1e-10, rtol=1e-7)
        else:
            assert not truth.any()


def _losses(
    model: TaggingModel, batcher: Any, sentences: list[Sentence], domain: int
) -> tuple[dict[str, float], list[Tensor]]:
    """Losses and gradients: encoder by label + 0.6 aux, decoder by label, head by aux."""
    batch = batcher([sentences], [model.labels_of(domain)])
    states = model.encoder(batch)
    label = model.decoder[domain](states, batch.tags, batch.mask).mean()
    assert model.head is not None
    aux = model.head(states, batch.mask, torch.tensor([domain]))[0]
    by_group = {"encoder": label + 0.6 * aux, "decoder": label, "head": aux}
    gradients = []
    for name, p in model.named_parameters():
        loss = by_group[group_of(name)]
        (gradient,) = torch.autograd.grad(
            loss, [p], retain_graph=True, allow_unused=True, materialize_grads=True
        )
        gradients.append(gradient)
    return {group: float(loss.detach()) for group, loss in by_group.items()}, gradients


@pytest.mark.parametrize("weighting", [equal_weights, hardness_weights])
@pytest.mark.parametrize("totals", [[1.0, 3.0, 2.0, 0.5], [0.0, 0.0, 2.0, 1.0]])
@pytest.mark.filterwarnings("ignore:task losses are all zero")
def test_sum_does_not_depend_on_the_parts(tiny_transformer, weighting, totals):
    _, model, _, _ = taken("maml", tiny_transformer, {"aux_weight": 1.0})
    domains = [0, 1, 1, 0]
    rng = torch.Generator().manual_seed(0)
    gradients = {
        n: torch.randn(p.shape, generator=rng, dtype=p.dtype)
        for n, p in model.stack_tasks(domains).items()
    }
    label = torch.tensor(totals, dtype=torch.float64)

    def gathered(*parts: slice) -> list[Tensor | None]:
        for p in model.parameters():
            p.grad = None
        sums = GradientAccumulator(model, weighting)
        for own in parts:
            mine = {n: g[own] for n, g in gradients.items()}
            losses = Losses(label[own], None, label[own])
            sums.add(domains[own], Step(losses, mine, weighting(losses)))
        torch.testing.assert_close(sums.step().losses.total, label)
        return [p.grad for p in model.parameters()]

    expected = gathered(slice(0, 4))
    for parts in ([slice(0, 1), slice(1, 4)], [slice(i, i + 1) for i in range(4)]):
        for a, b in zip(gathered(*parts), expected, strict=True):
            torch.testing.assert_close(a, b)
