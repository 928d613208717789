"""A tiny learner on the package's own corpora: whole runs in a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.own import own_corpus
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.methods.hgda import HGDA
from adaptner.models.base import Base
from adaptner.nn.encoders.recurrent import EncoderConfig
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.vectors.word_vectors import WordVectors

TINY = EncoderConfig(word_width=16, char_embedding=8, char_cnn_filters=8, char_lstm=8, hidden=12)

Fit = Callable[..., Base]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def sources() -> list[SourceDomain]:
    return source_domains(group_by_domain([own_corpus(n) for n in ("disease", "drug", "gene")]))


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
        method = HGDA(**{"encoder": TINY, "k": 3, "tasks": 2, "record_every": 2, **overrides})
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
