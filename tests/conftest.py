"""The environment, the command-line options and the fixtures of all tests."""

from __future__ import annotations

import isolation  # noqa: F401  # isort: skip  # first: torch and rich read the environment on import

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import torch
from terms_base_kit import base_with_terms
from tiny import TINY_ENCODER
from transformer_kit import make_tiny_transformer

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.methods.hgda import HGDA
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.training.optimiser import OptimiserConfig
from adaptner.vectors.word_vectors import WordVectors

# One thread: small tensors gain nothing from more, and the machine is shared.
torch.set_num_threads(1)

# The same examples in every run, so that a failure comes from the change under test. Set
# ADAPTNER_EXPLORE=1 to try new examples. No deadline, since the machine may be busy.
hypothesis.settings.register_profile(
    "tests", derandomize="ADAPTNER_EXPLORE" not in os.environ, deadline=None
)
hypothesis.settings.load_profile("tests")

pytest_plugins = ["cli_kit"]  # call, child, workshop, eager_model

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write golden.json for methods that are new or whose version was raised",
    )
    parser.addoption(
        "--rerun-processes",
        action="store_true",
        help="run a failed test again, up to twice, if it is marked as starting processes",
    )


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.processes)
        if config.getoption("--rerun-processes") and item.get_closest_marker("processes"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=3))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora; the test is skipped where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"real corpora not found at {folder}")
    return folder


@pytest.fixture(scope="session")
def shared_vectors() -> Path:
    folder = SHARED / "vectors"
    if not folder.is_dir():
        pytest.skip(f"word vectors not found at {folder}")
    return folder


@pytest.fixture(scope="session")
def tiny_transformer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a transformer with random weights. Not to be changed."""
    return make_tiny_transformer(tmp_path_factory.mktemp("transformer"))


# A tiny base and a tagger of two types that finds something, for all tests of adaptation.


@pytest.fixture(scope="session")
def quick() -> FineTuneConfig:
    """Enough for a tiny model to find something."""
    return FineTuneConfig(
        steps=60, epochs=0, encoder_scale=1.0, optimiser=OptimiserConfig(name="adamw", rate=5e-2)
    )


@pytest.fixture(scope="session")
def base() -> Base:
    sources = source_domains(group_by_domain([bundled_corpus(n) for n in ("disease", "drug")]))
    return HGDA(encoder=TINY_ENCODER, k=3, tasks=2).fit(sources, Budget(5))


@pytest.fixture(scope="session")
def tagger(base: Base, quick: FineTuneConfig) -> Tagger:
    """Knows Gene and Species, neither of which the base has seen."""
    sentences = [s for n in ("gene", "species") for s in bundled_corpus(n).split("train")[:30]]
    return fine_tune(base, sentences, quick)


# A tiny learner on the package's own corpora: whole runs in a fraction of a second.

Fit = Callable[..., Base]


@pytest.fixture(scope="session")
def sources() -> list[SourceDomain]:
    return source_domains(group_by_domain([bundled_corpus(n) for n in ("disease", "drug", "gene")]))


@pytest.fixture(scope="session")
def vectors(sources: list[SourceDomain]) -> WordVectors:
    words = (s.tokens for d in sources for s in d.sentences)
    return WordVectors.random(words, 16, np.random.default_rng(7))


@pytest.fixture(scope="session")
def fit(sources: list[SourceDomain]) -> Fit:
    """``fit(steps, run, ...)``: HGDA, small and quick; dropout is on, so noise is part of it."""

    def run_it(
        steps: int,
        run: TrainingRun | None = None,
        seed: int = 0,
        vectors: WordVectors | None = None,
        **overrides: object,
    ) -> Base:
        method = HGDA(
            **{"encoder": TINY_ENCODER, "k": 3, "tasks": 2, "record_every": 2, **overrides}
        )
        return method.fit(sources, Budget(steps), seed=seed, run=run, vectors=vectors)

    return run_it


@pytest.fixture(scope="session")
def tuned_base(fit: Fit) -> Base:
    return fit(3)


@pytest.fixture(scope="session")
def frozen_base_folder(
    fit: Fit, vectors: WordVectors, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A saved base over given vectors. Not to be changed: copy it."""
    folder = tmp_path_factory.mktemp("frozen") / "base"
    fit(3, vectors=vectors).save(folder)
    return folder


@pytest.fixture(scope="session")
def terms_base(tuned_base: Base, tmp_path_factory: pytest.TempPathFactory) -> Base:
    """A saved base with tiny terminologies. Not to be changed: copy its folder."""
    return base_with_terms(tuned_base, tmp_path_factory.mktemp("terms") / "base")
