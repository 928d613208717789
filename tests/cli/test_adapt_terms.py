"""``adaptner adapt`` with a base that has terminologies: what labels start from, and users' own names."""

from __future__ import annotations

import pytest
from cli_kit import jsonl, refused
from terms_base_kit import base_with_terms

from adaptner.models.installed import default_base


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named") / "base"
    base_with_terms(default_base(), folder)
    return folder


@pytest.mark.slow
def test_labels_start_from_terminologies_and_own_names(call, named, tmp_path):
    (tmp_path / "my.jsonl").write_bytes(
        jsonl(
            ("HeLa cells grew.", [(0, 4, "CellLine")]),
            ("The blue line and a stent.", [(4, 13, "CellLine"), (20, 25, "MedicalDevice")]),
            ("Nothing grew.", []),
        )
    )
    (tmp_path / "mine.txt").write_text("blue line\n7\n")
    adapt = ("adapt", tmp_path / "my.jsonl", "--base", named, "-o", tmp_path / "model")
    answer = call.ok(*adapt, "--no-estimate", "--terms", f"CellLine={tmp_path / 'mine.txt'}")
    assert "CellLine starts from Cell lines (Cellosaurus) and your own names" in answer.err
    assert "MedicalDevice starts from Medical devices" in answer.err
    assert "'7' (a number)" in answer.err
    (record,) = call.ok("tag", tmp_path / "model", stdin="A blue line and HeLa.").records()
    assert [e["text"] for e in record["entities"]] == ["blue line", "HeLa"]


def test_terms_are_refused_where_the_method_reads_none(call, terms_base, tmp_path):
    (tmp_path / "my.jsonl").write_bytes(jsonl(("HeLa cells grew.", [(0, 4, "CellLine")])))
    (tmp_path / "mine.txt").write_text("blue line\n")
    adapt = ("adapt", tmp_path / "my.jsonl", "--base", terms_base.folder, "-o", tmp_path / "model")
    refused(call(*adapt, "--terms", f"CellLine={tmp_path / 'mine.txt'}"), 2, "--terms has no use")
