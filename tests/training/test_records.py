"""Metrics files remain readable after a crash."""

from __future__ import annotations

import json

import pytest

from adaptner.training.records import MetricsFile, read_metrics


def write(path, count: int) -> None:
    records = MetricsFile(path)
    for number in range(1, count + 1):
        records.add(iteration=number, text="10 µg of naïve α-toxin 𝛼")
    records.close()


@pytest.mark.parametrize("torn", range(1, 60))
def test_incomplete_last_line_is_ignored(tmp_path, torn):
    """Cut at any byte, also inside a character of several bytes."""
    path = tmp_path / "m.jsonl"
    write(path, 3)
    whole = path.read_bytes()
    path.write_bytes(whole[:-torn])
    found = list(read_metrics(path))
    assert [r["iteration"] for r in found] == [1, 2]


def test_incomplete_line_is_removed_by_resuming(tmp_path):
    path = tmp_path / "m.jsonl"
    write(path, 3)
    with open(path, "ab") as file:
        file.write(b'{"iteration": 4, "te')
    records = MetricsFile(path, keep_until=3)
    records.add(iteration=4, text="again")
    records.close()
    assert [json.loads(x)["iteration"] for x in path.read_text().splitlines()] == [1, 2, 3, 4]


def test_records_after_the_checkpoint_are_dropped(tmp_path):
    path = tmp_path / "m.jsonl"
    write(path, 5)
    kept = path.read_bytes().splitlines(keepends=True)[:3]
    MetricsFile(path, keep_until=3).close()
    assert path.read_bytes() == b"".join(kept)


def test_new_run_removes_all_records(tmp_path):
    write(tmp_path / "m.jsonl", 5)
    MetricsFile(tmp_path / "m.jsonl").close()
    assert (tmp_path / "m.jsonl").read_bytes() == b""


def test_missing_file_has_no_records(tmp_path):
    assert list(read_metrics(tmp_path / "none.jsonl")) == []
