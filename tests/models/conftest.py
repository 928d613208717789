"""Fixtures of several modules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.corpora.bundled import bundled_corpus
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger


@pytest.fixture(scope="session")
def texts() -> list[str]:
    test = bundled_corpus("species").split("test")[:30]
    return [" ".join(s.text for s in test), "", "No name here."]


@pytest.fixture(scope="session")
def adapted(quick: FineTuneConfig) -> Callable[[Base], Tagger]:
    """``adapted(base)``: a tagger of species."""
    return lambda base: fine_tune(base, bundled_corpus("species").split("train")[:30], quick)
