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
    (base / "trust.json").unlink(missing_ok=True)
    run = ("calibrate", CELLS, DISEASE, DRUG, "-o", rows, "--base", base, "--limit", 20)
    options = ("--sizes", "5,8", "--draws", 1)
    first = call.ok(*run, *options)
    lines = rows.read_text().splitlines()
    assert [json.loads(line)["size"] for line in lines] == [5, 8] * 3
    assert "**mean**" in first.out
    assert not (base / "trust.json").exists()
    again = call.ok(*run, *options, "--store")
    assert rows.read_text().splitlines() == lines
    assert again.out == first.out
    constants = json.loads((base / "trust.json").read_text())
    assert len(constants["scores"]) == 4
