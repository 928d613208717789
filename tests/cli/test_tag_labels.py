"""``adaptner tag --labels``: entities by the names of their types alone."""

from __future__ import annotations

import json

import pytest
from cli_kit import checked_entities, refused

from adaptner.errors import ModelUnreadable

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


# --- the user's own names -------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path):
    """A list with a name that the base does not know, one that it does, and one that is a number."""
    (tmp_path / "cells.csv").write_text("id,name\nMY:1,blue line\nMY:2,HeLa\nMY:3,17\n")
    return f"CellLine={tmp_path / 'cells.csv'}"


OWN_TEXT = "The blue line, K562, HeLa and 17."


def test_own_names_are_found_beside_those_of_the_base(call, by_labels, mine):
    answer = call.ok(*by_labels, "--terms", mine, stdin=OWN_TEXT)
    (record,) = answer.records()
    assert [e["text"] for e in checked_entities(record)] == ["blue line", "K562", "HeLa"]
    assert [e.get("ids") for e in record["entities"]] == [["MY:1"], ["C:2"], ["MY:2", "C:1"]]
    assert "CellLine: 1 name(s) of your list are not used: '17' (a number)" in answer.err
    answer = call.ok(*by_labels, "--terms", mine, "--keep-all", stdin=OWN_TEXT)
    assert [e["text"] for e in answer.records()[0]["entities"]][-1] == "17"
    assert "not used" not in answer.err


def test_saved_tagger_contains_own_names(terms_base, mine, tmp_path):
    import adaptner as an

    file = mine.partition("=")[2]
    tagger = an.tagger(["CellLine", "Widget"], terms_base, terms={"CellLine": file, "Widget": file})
    tagger.save(tmp_path / "model")
    (tmp_path / "cells.csv").unlink()
    loaded = an.load(tmp_path / "model")
    assert loaded.predict([OWN_TEXT]) == tagger.predict([OWN_TEXT])
    assert [e.ids[0] for e in loaded.predict([OWN_TEXT])[0]] == ["MY:1", "C:2", "MY:2"]
    (loaded_file,) = (tmp_path / "model").glob("names-1.bin")
    loaded_file.write_bytes(loaded_file.read_bytes()[:-1])
    with pytest.raises(ModelUnreadable, match="changed or cut off"):
        an.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("terms", "code", "says"),
    [
        ("Other=LIST", 2, "'Other'"),
        ("LIST", 2, "LABEL=FILE"),
        ("CellLine=nowhere.txt", 1, "nowhere.txt"),
        ("CellLine=EMPTY", 1, "no names"),
        ("CellLine=NUMBERS", 1, "--keep-all"),
    ],
)
def test_wrong_lists_are_refused(call, by_labels, mine, tmp_path, terms, code, says):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "numbers.txt").write_text("1\n2\n")
    names = {"LIST": "cells.csv", "EMPTY": "empty.txt", "NUMBERS": "numbers.txt"}
    for name, file in names.items():
        terms = terms.replace(name, str(tmp_path / file))
    refused(call(*by_labels, "--terms", terms, stdin=OWN_TEXT), code, says)
