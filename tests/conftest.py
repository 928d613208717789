"""Fixtures every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

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
