"""The updates of HGDA, HGDA-NEs and MAML against the papers' algorithms."""

from __future__ import annotations

import itertools
import json
import math
import random
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bilevel_cases import SOURCES, WORDS
from builders import sentence
from naive_hgda import Algorithm1, Naive, Settings

from adaptner.corpora.sources import SourceDomain
from adaptner.episodes import Task, TaskSource
from adaptner.methods.configuration import make_method
from adaptner.methods.families.meta_learner import MetaLearner
from adaptner.methods.families.source_pretrained import build_model
from adaptner.methods.hgda import HGDA
from adaptner.methods.hgda_nes import HGDANEs
from adaptner.methods.maml import MAML
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.types import LabelSet
from adaptner.vectors.word_vectors import WordVectors

VECTORS = WordVectors(WORDS, np.random.default_rng(3).normal(size=(5, 3)).astype(np.float32))
ENCODER = {
    "char_embedding": 3,
    "char_cnn_filters": 2,
    "char_lstm": 4,
    "hidden": 3,
    "dropout": 0.0,
}
# Far from the defaults, so that each setting affects the results.
CONFIG: dict[str, Any] = {
    "k": 2,
    "tasks": 4,
    "aux_weight": 0.6,
    "inner_steps": 2,
    "inner_rate": 0.2,
    "outer_rate": 0.5,
    "encoder": ENCODER,
    "optimiser": {"name": "sgd", "momentum": 0.9, "weight_decay": 0.02, "clip": 0.2},
}


def drawn(seed: int, iterations: int, sampling: str) -> list[list[Task]]:
    source = TaskSource([d.corpora for d in SOURCES], CONFIG["k"], sampling)  # type: ignore[arg-type]
    rng = random.Random(seed)
    return [[source.sample(rng) for _ in range(CONFIG["tasks"])] for _ in range(iterations)]


def seed_with_absent_domains(sampling: str) -> int:
    """The first batch has two domains and the second lacks one of them, whose decoder then has momentum but
    must not change."""

    def domains(batch: list[Task]) -> set[int]:
        return {t.domain for t in batch}

    for seed in itertools.count():
        first, second = map(domains, drawn(seed, 2, sampling))
        if len(first) == 2 and first - second:
            return seed
    raise AssertionError


METHODS = {
    "hgda": (HGDA, True, True, "all"),
    "hgda-nes": (HGDANEs, False, True, "entities"),
    "maml": (MAML, False, False, "all"),
}


@pytest.mark.parametrize(
    ("name", "steps"), [("hgda", 1), ("hgda", 3), ("hgda-nes", 1), ("maml", 1)]
)
def test_update_equals_the_algorithms(name, steps):
    kind, hard, classifier, sampling = METHODS[name]
    seed = seed_with_absent_domains(sampling)
    method: MetaLearner = kind(**CONFIG)
    model, batcher = build_model(
        SOURCES, method.config, VECTORS, seed, torch.Generator().manual_seed(seed)
    )
    assert (model.head is not None) == classifier
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    naive = Naive.of(model, VECTORS, batcher.alphabet)
    optimiser = CONFIG["optimiser"]
    truth = Algorithm1(
        naive,
        Settings(
            alpha=CONFIG["outer_rate"],
            beta=CONFIG["inner_rate"],
            lam=CONFIG["aux_weight"],
            inner_steps=CONFIG["inner_steps"],
            hardness=hard,
            momentum=optimiser["momentum"],
            decay=optimiser["weight_decay"],
            clip=optimiser["clip"],
        ),
    )
    batches = drawn(seed, steps, sampling)
    for done, batch in enumerate(batches):
        truth.iterate(batch, share_left=1 - done / steps)
        assert truth.norm > optimiser["clip"]  # the gradient was clipped

    base = method.fit(SOURCES, Budget(steps), vectors=VECTORS, seed=seed)
    after = dict(base.model.named_parameters())
    expected = naive.export()
    assert set(expected) == set(after)
    seen = {t.domain for batch in batches for t in batch}
    for parameter, value in after.items():
        torch.testing.assert_close(
            value.detach().double(), expected[parameter], atol=1e-5, rtol=0, msg=parameter
        )
        moved = (value - before[parameter]).abs().max().item()
        if parameter.startswith("decoder.") and int(parameter.split(".")[1]) not in seen:
            assert moved == 0, parameter  # no step at all: no decay, no momentum
        else:
            assert moved > 1e-4, parameter  # ten times the tolerance
    if steps == 1:
        assert len(seen) == 2  # so one decoder was not updated


def test_base_is_reproducible_and_depends_on_the_seed():
    one, two, other = (
        HGDA(**CONFIG).fit(SOURCES, Budget(2), vectors=VECTORS, seed=s).model.state_dict()
        for s in (5, 5, 6)
    )
    assert all(torch.equal(one[n], two[n]) for n in one)
    assert not all(torch.equal(one[n], other[n]) for n in one)


@pytest.mark.parametrize("outer", ["first", "second", "implicit"])
def test_training_runs_with_every_outer_gradient(outer):
    base = HGDA(**CONFIG, outer=outer).fit(SOURCES, Budget(2), vectors=VECTORS)
    assert base.facts["iterations"] == 2
    assert all(p.isfinite().all() for p in base.model.parameters())


def test_second_order_handles_sentences_of_one_word():
    """Recurrent weights are not in the graph of sequences of one step."""
    single = [
        SourceDomain(n, LabelSet((n,)), {n: [sentence(f"{n}{i}", f"B-{n}") for i in range(4)]}, {})
        for n in "AB"
    ]
    encoder = {**ENCODER, "char_cnn_filters": 0, "char_lstm": 0}
    config = {**CONFIG, "encoder": encoder, "outer": "second"}
    base = HGDA(**config).fit(single, Budget(1), vectors=VECTORS)
    assert all(p.isfinite().all() for p in base.model.parameters())


def test_recipes_have_the_values_of_the_paper():
    """The defaults differ only in the outer optimiser."""
    recipes = resources.files("adaptner.reproduce.tables") / "recipes"
    hgda, nes, maml = (
        make_method(name, Path(str(recipes / f"{name}.toml"))).config
        for name in ("hgda", "hgda-nes", "maml")
    )
    sgd = {"optimiser": hgda.optimiser}
    for config, default in ((hgda, HGDA()), (nes, HGDANEs()), (maml, MAML())):
        assert config == default.config.model_copy(update=sgd)
    for config in (hgda, nes, maml):
        assert config.outer_optimiser().rate == pytest.approx(1e-2 * math.sqrt(10 / 32))  # eq. 3
        assert (config.tasks, config.inner_steps, config.aux_weight) == (4, 1, 1.0)
        assert (config.outer, config.per_token, config.reversal) == ("first", False, False)
        o = config.optimiser
        assert (o.name, o.momentum, o.weight_decay, o.clip, o.schedule) == (
            "sgd", 0.9, 1e-6, 5.0, "linear",
        )  # fmt: skip
        assert config.encoder.dropout == 0.2
    assert (hgda.sampling, hgda.weighting, hgda.classifier) == ("all", "hardness", True)
    assert (nes.sampling, nes.weighting, nes.classifier) == ("entities", "uniform", True)
    assert (maml.sampling, maml.weighting, maml.classifier) == ("all", "uniform", False)


@pytest.mark.parametrize("k", [5, 8, 32, 50])
def test_learning_rate_follows_equation_3(k):
    config = HGDA(k=k, optimiser={"name": "sgd"}).config
    assert config.scaled_rate() == pytest.approx(1e-2 * math.sqrt(k / 32))
    assert config.outer_optimiser().rate == config.scaled_rate()
    assert HGDA(k=k).config.outer_optimiser().rate == 2e-3  # AdamW does not use eq. 3
    assert HGDA(k=k, outer_rate=0.3).config.outer_optimiser().rate == 0.3


def test_recorded_hardness_equals_equation_2(tmp_path):
    """Tables 1 and 4 are made from these records."""
    HGDA(**CONFIG).fit(SOURCES, Budget(1), vectors=VECTORS, run=TrainingRun(folder=tmp_path))
    lines = (tmp_path / "hardness.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == CONFIG["tasks"]
    total = sum(r["loss"] for r in records)
    for record, task in zip(records, drawn(0, 1, "all")[0], strict=True):
        assert record["gamma"]["encoder"] == pytest.approx(record["loss"] / total, abs=1e-6)
        assert record["corpus"] == task.corpus
        plain = [s.replace("[", "").replace("]", "") for s in record["sentences"]]
        assert plain == [s.text for s in task.query]
