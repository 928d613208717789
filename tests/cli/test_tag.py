"""``adaptner tag``: standard input, files, output formats, unreadable input."""

from __future__ import annotations

import json

import pytest
from cli_kit import CELL_TEXT, CELLS, checked_entities


@pytest.mark.parametrize("files", [(), ("-",)])
def test_tag_standard_input(call, eager_model, files):
    (document,) = call.ok("tag", eager_model, *files, stdin=CELL_TEXT).records()
    assert document["text"] == CELL_TEXT
    assert "HeLa" in [e["text"] for e in checked_entities(document)]


def test_tag_files_and_folders(call, eager_model, tmp_path):
    folder = tmp_path / "abstracts" / "deep"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text("The HeLa line is old.\n")
    (folder.parent / "a.jsonl").write_text('{"id": "PMID1", "text": "HeLa."}\n{"text": "Rats."}\n')
    (folder.parent / "figure.png").write_bytes(b"\x89PNG")
    single = tmp_path / "c.txt"
    single.write_text("No cell.")
    output = tmp_path / "tagged.jsonl"
    answer = call.ok("tag", eager_model, single, tmp_path / "abstracts", "-o", output)
    assert answer.out == ""
    assert f"4 document(s) tagged -> {output}" in answer.err
    documents = [json.loads(line) for line in output.read_text().splitlines()]
    second = f"{folder.parent / 'a.jsonl'}:2"
    assert [d["id"] for d in documents] == [str(single), "PMID1", second, str(folder / "b.txt")]
    for document in documents:
        checked_entities(document)


def test_tag_keeps_the_tokens_of_a_conll_file(call, eager_model, tmp_path):
    lines = ["The", "HeLa(S3)/x", "line.", "", "HeLa", "."]
    file = tmp_path / "tokens.conll"
    file.write_text("".join(f"{t}\tO\n" if t else "\n" for t in lines))
    output = tmp_path / "tagged.conll"
    call.ok("tag", eager_model, file, "-o", output)
    tagged = [line.split("\t") for line in output.read_text().rstrip("\n").split("\n")]
    assert [row[0] for row in tagged] == lines
    assert {row[1] for row in tagged if row[0]} <= {"O", "B-Cell", "I-Cell"}
    for document in call.ok("tag", eager_model, file).records():
        checked_entities(document)
        assert [document["text"][a:b] for a, b in document["token_spans"]] in (lines[:3], lines[4:])


def test_html_page_marks_the_entities(call, eager_model, tmp_path):
    text = "The HeLa line is <old> & frail."
    output = tmp_path / "page.html"
    call.ok("tag", eager_model, "-o", output, stdin=text)
    page = output.read_text()
    assert page.startswith("<!doctype html>")
    assert ">HeLa<" in page
    assert "&lt;old&gt; &amp; frail." in page
    assert "<script" not in page
    assert "http" not in page
    assert call.ok("tag", eager_model, "--to", "html", stdin=text).out == page


def test_terminal_output_marks_the_entities(call, eager_model):
    shown = call.ok("tag", eager_model, "--to", "terminal", stdin="The HeLa [line] is old.").out
    assert "HeLa|Cell" in shown
    assert "[line] is old." in shown


def test_tagging_continues_after_an_unreadable_file(call, eager_model, tmp_path):
    bad, good = tmp_path / "bad.jsonl", tmp_path / "good.txt"
    bad.write_text('{"text": "HeLa one."}\n{"text": 3}\n{"text": "HeLa three."}\n')
    good.write_text("HeLa four.")
    output = tmp_path / "out.jsonl"
    answer = call("tag", eager_model, bad, tmp_path / "missing.txt", good, "-o", output)
    assert answer.code == 1
    assert f"{bad}:2: " in answer.err
    assert "missing.txt" in answer.err
    documents = [json.loads(line) for line in output.read_text().splitlines()]
    assert [d["text"] for d in documents] == ["HeLa one.", "HeLa three.", "HeLa four."]
    assert [d["id"] for d in documents] == [f"{bad}:1", f"{bad}:3", str(good)]


def test_nothing_to_tag_keeps_an_earlier_output(call, model, tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("earlier")
    (tmp_path / "none").mkdir()
    answer = call("tag", model, tmp_path / "none", tmp_path / "missing.txt", "-o", output)
    assert answer.code == 1
    assert answer.err.count("What to do") == 2
    assert output.read_text() == "earlier"


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_unknown_format_is_refused_before_loading(call, model, option):
    answer = call("tag", model, option, "word", stdin="HeLa.")
    assert (answer.code, answer.out) == (2, "")
    assert "'word'" in answer.err


def test_tagged_gold_can_be_scored(call, model, tmp_path):
    gold, tagged = CELLS / "test.jsonl", tmp_path / "tagged.jsonl"
    call.ok("tag", model, gold, "-o", tagged, "-q")
    scores = call.facts("score", gold, tagged, "--json")
    truth = sum(len(json.loads(line)["entities"]) for line in gold.read_text().splitlines())
    found = sum(len(json.loads(line)["entities"]) for line in tagged.read_text().splitlines())
    assert scores["documents"] == 70
    assert scores["overall"]["support"] == truth
    assert scores["overall"]["predicted"] == found
    perfect = call.facts("score", gold, gold, "--json")
    assert perfect["overall"]["f1"] == 1.0
