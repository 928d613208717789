"""``adaptner calibrate``."""

from __future__ import annotations

import json
import shutil

from cli_kit import CELLS, DISEASE, DRUG

from adaptner.models.installed import default_base


def test_rows_are_kept_and_constants_stored(call, tmp_path):
    base, rows = tmp_path / "base", tmp_path / "rows.jsonl"
    folder = default_base().folder
    assert folder is not None
    shutil.copytree(folder, base)
    stored = base / "trust-terms.json"  # terminologies know all three labels
    stored.unlink(missing_ok=True)
    run = ("calibrate", CELLS, DISEASE, DRUG, "-o", rows, "--base", base, "--limit", 20)
    options = ("--sizes", "5,8", "--draws", 1)
    first = call.ok(*run, *options)
    lines = rows.read_text().splitlines()
    assert [json.loads(line)["size"] for line in lines] == [5, 8] * 3
    assert "**mean**" in first.out
    assert not stored.exists()
    again = call.ok(*run, *options, "--store")
    assert rows.read_text().splitlines() == lines
    assert again.out == first.out
    constants = json.loads(stored.read_text())
    assert len(constants["scores"]) == 4
