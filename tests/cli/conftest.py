"""The base, tagger and settings that all tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import GOOD, TINY


@pytest.fixture
def base(workshop: Path) -> Path:
    return workshop / "base"


@pytest.fixture
def model(workshop: Path) -> Path:
    return workshop / "model"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of two annotated sentences."""
    (tmp_path / "mine.jsonl").write_bytes(GOOD * 2)
    return tmp_path / "mine.jsonl"


@pytest.fixture
def config(workshop: Path) -> Path:
    return workshop / "config.toml"


@pytest.fixture(scope="session")
def joint_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TINY for methods that record no hardness."""
    file = tmp_path_factory.mktemp("joint") / "config.toml"
    lines = [line for line in TINY.splitlines() if not line.startswith("record_every")]
    file.write_text("\n".join(lines).replace("steps = 30", "steps = 3"))
    return file
