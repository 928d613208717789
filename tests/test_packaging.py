"""What an installed package contains."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_data_file_is_part_of_the_package():
    """An editable install finds files that a wheel would lack."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    package = ROOT / "src/adaptner"
    packed = {
        path
        for pattern in settings["tool"]["setuptools"]["package-data"]["adaptner"]
        for path in package.glob(pattern)
    }
    files = {p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert {p for p in files if p.suffix != ".py"} <= packed
