"""``adaptner methods``, and ``--quiet`` of the verbs that learn."""

from __future__ import annotations

import json

import pytest
from cli_kit import CELLS, DISEASE, DRUG, jsonl


def test_methods_lists_all_methods(call):
    rows = {row["name"]: row for row in call.facts("methods", "--json")}
    assert {"hgda", "hgda-nes", "maml"} <= rows.keys()
    fields = ["name", "title", "paper", "needs", "supports", "joint", "unlabelled", "zero_shot"]
    assert all(list(row) == fields for row in rows.values())
    assert all(row[field] for row in rows.values() for field in fields[:5])
    assert {n for n, row in rows.items() if row["joint"]} >= {"agg", "dann", "multitask"}
    users = [n for n, row in rows.items() if row["unlabelled"]]
    assert users == [
        *("crossdomain-lm", "dann", "multi-cell", "named", "pdaln", "self-train", "stm-elmo")
    ]
    assert not rows["hgda"]["joint"]
    assert "sources' labels" in rows["d-shift"]["supports"]


@pytest.mark.parametrize("width", [80, 120])
def test_methods_table_fits_the_terminal(call, monkeypatch, width):
    from adaptner.cli.common import out
    from adaptner.methods import methods

    monkeypatch.setattr(out, "width", width)
    lines = call.ok("methods").out.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    (header,) = (line for line in lines if "needs" in line.split())
    assert header.split() == ["name", "title", "paper", "needs", "supports"]
    firsts = [line.split()[0] for line in lines if line[1:2].strip() and line[1] != "─"]
    assert firsts == ["name", *methods()]  # a row begins where its name stands


def test_quiet_prints_nothing(call, base, config, tmp_path):
    one = tmp_path / "one.jsonl"
    one.write_bytes(jsonl(("HeLa met Bob.", [(0, 4, "Cell")])))  # would be warned of
    target = ("--target", CELLS, "--sizes", "3", "--draws", 1, "--limit", 2, "--steps", 1)
    learning = ("--config", config, "--iterations", 1)
    sources = ("--sources", DISEASE, DRUG)
    for arguments in (
        ("pretrain", *sources, *learning, "-o", tmp_path / "base"),
        ("adapt", one, "--base", base, "-o", tmp_path / "model"),
        ("tag", tmp_path / "model", one, "-o", tmp_path / "out.jsonl"),
        ("convert", one, tmp_path / "one.conll"),
    ):
        answer = call.ok(*arguments, "--quiet")
        assert (answer.out, answer.err) == ("", ""), arguments[0]
    for arguments in (("--base", base), ("--method", "maml", *sources, *learning)):
        answer = call.ok("evaluate", *arguments, *target, "--json", "--quiet")
        assert answer.err == ""
        json.loads(answer.out)
