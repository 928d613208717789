"""A tiny base and a tagger of two types that finds something, for all tests of adaptation."""

from __future__ import annotations

import pytest
import torch

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.own import own_corpus
from adaptner.methods.base import source_domains
from adaptner.methods.hgda import HGDA
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.recurrent import EncoderConfig
from adaptner.training.budget import Budget
from adaptner.training.optimiser import OptimiserConfig

TINY = EncoderConfig(word_width=16, char_embedding=8, char_cnn_filters=8, char_lstm=8, hidden=12)
QUICK = FineTuneConfig(
    steps=60, epochs=0, encoder_scale=1.0, optimiser=OptimiserConfig(name="adamw", rate=5e-2)
)


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def quick() -> FineTuneConfig:
    """Enough for a tiny model to find something."""
    return QUICK


@pytest.fixture(scope="session")
def base() -> Base:
    sources = source_domains(group_by_domain([own_corpus(n) for n in ("disease", "drug")]))
    return HGDA(encoder=TINY, k=3, tasks=2).fit(sources, Budget(5))


@pytest.fixture(scope="session")
def tagger(base: Base) -> Tagger:
    """Knows Gene and Species, neither of which the base has seen."""
    sentences = [s for n in ("gene", "species") for s in own_corpus(n).split("train")[:30]]
    return fine_tune(base, sentences, QUICK)
