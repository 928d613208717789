"""The input of the tests of tagging."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def abstracts(tmp_path: Path) -> Path:
    folder = tmp_path / "abstracts"
    (folder / "deep").mkdir(parents=True)
    for number in range(6):
        (folder / f"{number}.txt").write_text(f"The HeLa line is old. Text {number}.\n")
    (folder / "deep" / "0.txt").write_text("HeLa too.")
    (folder / "deep" / "b.jsonl").write_text('{"id": "7", "text": "HeLa."}\n{"text": "Rats."}\n')
    return folder
