"""``adaptner hardness``."""

from __future__ import annotations

import json

import pytest


def test_hardness_ranks_the_tasks_of_an_iteration(call, base):
    ranked = call.facts("hardness", base, "--iteration", 2, "--json")
    assert len(ranked) == 2
    assert all(task["iteration"] == 2 for task in ranked)
    gammas = [task["gamma"]["encoder"] for task in ranked]
    assert gammas == sorted(gammas, reverse=True)
    assert sum(gammas) == pytest.approx(1.0)
    assert all(len(task["sentences"]) == 4 for task in ranked)
    assert any("[" in s and "]" in s for task in ranked for s in task["sentences"])


def test_hardness_shows_the_last_recorded_iteration(call, base):
    shown = call.ok("hardness", base).out
    assert shown.startswith("iteration 4, 2 tasks")
    last = [json.loads(line) for line in (base / "hardness.jsonl").read_text().splitlines()][-2:]
    for sentence in (s for task in last for s in task["sentences"]):
        assert sentence in shown  # brackets and all
