"""Fixtures every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest
from transformer_kit import make_tiny_transformer

# The same examples every time, so that a change is judged by what it changes; ADAPTNER_EXPLORE=1
# looks for new ones. No deadline: how long an example takes is the machine's affair.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
if "ADAPTNER_EXPLORE" not in os.environ:
    hypothesis.settings.load_profile("same")

os.environ["WNSEARCHDIR"] = "/none"  # the same synonyms everywhere, WordNet installed or not

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


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
