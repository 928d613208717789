"""``adaptner tag --labels``: entities by the names of their types alone."""

from __future__ import annotations

import json

import pytest
from cli_kit import checked_entities, refused

TEXT = "HeLa cells and a heart valve after a night."
FOUND = [("HeLa", "CellLine"), ("heart valve", "MedicalDevice")]


def entities(record: dict) -> list[tuple[str, str]]:
    return [(e["text"], e["label"]) for e in checked_entities(record)]


@pytest.fixture
def by_labels(terms_base) -> tuple[object, ...]:
    return "tag", "--labels", "MedicalDevice, CellLine", "--base", terms_base.folder


@pytest.mark.parametrize("files", [(), ("-",)])
def test_standard_input_is_tagged(call, by_labels, files):
    (record,) = call.ok(*by_labels, *files, stdin=TEXT).records()
    assert entities(record) == FOUND


def test_all_positional_arguments_are_input(call, by_labels, tmp_path):
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    for file in files:
        file.write_text(TEXT)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.jsonl").write_text(json.dumps({"id": "c", "text": TEXT}))
    records = call.ok(*by_labels, *files, tmp_path / "more").records()
    assert [r["id"] for r in records] == [*map(str, files), "c"]
    assert [entities(r) for r in records] == [FOUND] * 3


@pytest.mark.processes
def test_processes_find_the_same(call, by_labels, tmp_path):
    (tmp_path / "texts.jsonl").write_text(f"{json.dumps({'text': TEXT})}\n" * 20)
    alone = call.ok(*by_labels, tmp_path / "texts.jsonl").out
    assert call.ok(*by_labels, tmp_path / "texts.jsonl", "--jobs", 2).out == alone


def test_interrupted_run_into_a_folder_continues(call, by_labels, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    run = (*by_labels, tmp_path / "a.txt", "-o", f"{tmp_path}/out/")
    call.ok(*run)
    (tmp_path / "b.txt").write_text(TEXT)
    assert "1 document(s) tagged, 1 file(s) were tagged" in call.ok(*run, tmp_path / "b.txt").err
    results = sorted((tmp_path / "out").glob("*.jsonl"))
    assert [entities(json.loads(file.read_text())) for file in results] == [FOUND] * 2
    other = ("tag", "--labels", "MedicalDevice", *by_labels[3:])
    refused(call(*other, tmp_path / "a.txt", "-o", f"{tmp_path}/out/"), 1, "another model")


def test_page_says_what_found_the_entities_and_their_ids(call, by_labels):
    page = call.ok(*by_labels, "--to", "html", stdin=TEXT).out
    assert 'title="CellLine, score 0.75, C:1"' in page
    assert "CellLine, MedicalDevice, found by the method dictionary" in page


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--labels", "Quark", "--base", "TERMS"), 2, "'Quark'"),
        (("--labels", "MedicalDivice", "--base", "TERMS"), 2, "medical device"),
        (("--labels", ",", "--base", "TERMS"), 2, "no name"),
        (("--labels", "MedicalDevice", "--base", "PLAIN"), 1, "no terminologies"),
        (("--labels", "MedicalDevice", "--base", "nowhere"), 2, "'nowhere'"),
        ((), 2, "--labels"),
        (("MODEL", "--base", "TERMS"), 2, "--base has no use"),
    ],
)
def test_wrong_calls_are_refused(call, terms_base, workshop, arguments, code, says):
    places = {
        "TERMS": terms_base.folder,
        "PLAIN": workshop / "base",
        "MODEL": workshop / "model",
    }
    answer = call("tag", *(places.get(a, a) for a in arguments), stdin=TEXT)
    refused(answer, code, says)


def test_ids_are_written_unless_they_are_not_wanted(call, by_labels):
    (record,) = call.ok(*by_labels, stdin=TEXT).records()
    assert [e["ids"] for e in record["entities"]] == [["C:1"], ["D:4"]]
    (record,) = call.ok(*by_labels, "--no-ids", stdin=TEXT).records()
    assert entities(record) == FOUND
    assert not any("ids" in e for e in record["entities"])


@pytest.mark.processes
@pytest.mark.parametrize("jobs", [1, 2])
def test_explanations_name_terminologies(call, by_labels, jobs):
    (record,) = call.ok(*by_labels, "--explain", "--jobs", jobs, stdin=TEXT).records()
    assert [e["from"] for e in record["entities"]] == [
        {"name": "HeLa", "kinds": ["CellLine"], "sources": ["cellosaurus"]},
        {"name": "heart valve", "kinds": ["Device"], "sources": ["fda-devices"]},
    ]


def test_ids_are_kept_when_the_output_is_read_again(call, by_labels, tmp_path):
    call.ok(*by_labels, "-o", tmp_path / "a.jsonl", stdin=TEXT)
    call.ok("convert", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
