"""``adaptner tag`` and `tag_files`: long and odd texts, processes, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import count, islice

import pytest
from cli_kit import OWN, refused

from adaptner.formats import lines
from adaptner.formats.chunks import DocumentChunk
from adaptner.models.tagger import Tagger
from adaptner.tagging import TaggingSummary, tag_files
from adaptner.tagging import executor as executor_module
from adaptner.tagging.executor import SerialExecutor
from adaptner.types import Document


@pytest.mark.processes
def test_processes_find_the_same_as_one(call, eager_model, abstracts):
    alone = call.ok("tag", eager_model, abstracts).out
    assert call.ok("tag", eager_model, abstracts, "--jobs", 3).out == alone


@pytest.mark.processes
def test_death_of_a_process_is_reported_as_an_error(
    call, eager_model, abstracts, tmp_path, monkeypatch
):
    monkeypatch.setattr(Tagger, "predict_documents", lambda *_, **__: os._exit(9))
    output = tmp_path / "out.jsonl"
    refused(call("tag", eager_model, abstracts, "--jobs", 2, "-o", output), 1, "--jobs")
    assert not output.exists()


# --- long documents ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_text() -> str:
    """More characters than a chunk has, with a HeLa on every line."""
    return "The HeLa line is old (cf. Smith et al. 1999). It was kept in RPMI 1640 medium.\n" * 1600


@pytest.mark.slow
@pytest.mark.parametrize("way", ["txt", "jsonl"])
def test_long_document_is_written_in_one_piece(call, eager_model, tmp_path, long_text, way):
    file = tmp_path / f"long.{way}"
    file.write_text(long_text if way == "txt" else json.dumps({"text": long_text}) + "\n")
    (document,) = call.ok("tag", eager_model, file).records()
    assert document["text"] == long_text
    found = document["entities"]
    assert all(long_text[e["start"] : e["end"]] == e["text"] for e in found)
    assert [e["start"] for e in found] == sorted(e["start"] for e in found)
    assert sum("HeLa" in e["text"] for e in found) == 1600
    page = call.ok("tag", eager_model, file, "--to", "html").out
    assert page.count("<article>") == page.count("</article>") == 1
    tokens = call.ok("tag", eager_model, file, "--to", "conll").out
    assert tokens.count("\n\n") == 2 * 1600  # sentences, each with a blank line after it


# --- odd texts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "\x01\x02\x07\x1b[31mThe HeLa line is old.\x1b[0m\x7f\x85",
        "\u200b\u200d\u2028The HeLa line is old.\u2029\ufffd",
        "小鼠和大鼠的基因表达。The HeLa line is old. 人类细胞系也被研究。",
        "Мышь и крыса. الفأر والجرذ. चूहा और मनुष्य। The HeLa line is old.",
        "👩‍🔬 e\u0301tude 🧬! The HeLa line is old.\r\n\r\n\t",
    ],
)
def test_control_characters_and_other_scripts_are_preserved(call, eager_model, text):
    document = call.facts("tag", eager_model, stdin=text)
    assert document["text"] == text
    assert all(text[e["start"] : e["end"]] == e["text"] for e in document["entities"])
    assert "HeLa" in [e["text"] for e in document["entities"]]


@pytest.mark.parametrize("text", ["", " \n\t\r\n ", "HeLa\0cells"])
def test_input_without_text_is_refused(call, eager_model, text):
    refused(
        call("tag", eager_model, stdin=text), 1, "NUL character" if text.strip() else "no sentences"
    )


def test_empty_texts_among_others_have_no_entities(call, eager_model):
    lines = '{"text": ""}\n{"text": " "}\n{"text": "The HeLa line is old."}\n'
    records = call.ok("tag", eager_model, "--from", "jsonl", stdin=lines).records()
    assert [len(record["entities"]) for record in records] == [0, 0, 1]


# --- memory -----------------------------------------------------------------------------------------

# VmHWM, not ru_maxrss: that one begins with the memory of the process that started this one.
MEASURE = """
import re, sys
from pathlib import Path
from adaptner.cli.main import main
try:
    main()
except SystemExit as end:
    status = Path("/proc/self/status").read_text()
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) // 1024
    print(f"{end.code} {peak}", file=sys.stderr)
"""


def peak_megabytes(*arguments: object) -> int:
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=800,
    )
    code, peak = result.stderr.strip().splitlines()[-1].split()
    assert code == "0", result.stderr
    return int(peak)


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units there")
def test_memory_does_not_grow_with_the_input(eager_model, tmp_path):
    """10 MB in one file of one document, and a folder of 10,000 files."""
    sentences = [
        json.loads(x)["text"] for x in (OWN / "drug" / "train.jsonl").read_text().splitlines()
    ]
    page = " ".join(sentences[:40]) + "\n\n"
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    small.write_text(page * (500_000 // len(page)))
    large.write_text(page * (10_000_000 // len(page) + 1))
    assert large.stat().st_size > 10_000_000
    few = peak_megabytes("tag", eager_model, small, "-o", tmp_path / "small.jsonl")
    many = peak_megabytes("tag", eager_model, large, "-o", tmp_path / "large.jsonl")
    assert many < 500
    assert many < few + 40
    (document,) = map(json.loads, (tmp_path / "large.jsonl").read_text().splitlines())
    assert document["text"] == large.read_text()
    files = tmp_path / "files"
    files.mkdir()
    for number in range(10_000):
        (files / f"{number}.txt").write_text(sentences[number % len(sentences)])
    assert peak_megabytes("tag", eager_model, files, "-o", tmp_path / "files.jsonl") < few + 40


def test_overlong_line_of_jsonl_is_reported_and_skipped(call, eager_model, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10_000)
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "HeLa."}\n' + json.dumps({"text": "x " * 10_000}) + "\n")
    answer = call("tag", eager_model, file)
    assert answer.code == 1
    assert f"{file}:2: the line is longer than" in answer.err
    assert [d["text"] for d in answer.records()] == ["HeLa."]


# --- cold start -------------------------------------------------------------------------------------


@pytest.mark.processes
def test_wrong_format_is_refused_before_torch_is_loaded(child, tmp_path):
    result = child(
        "import sys\n"
        "from adaptner.errors import AdaptnerError\n"
        "from adaptner.tagging import tag_files\n"
        "try:\n"
        "    tag_files('model', ['-'], to='word')\n"
        "except AdaptnerError as error:\n"
        "    assert 'torch' not in sys.modules\n"
        "    print(error)\n"
    )
    assert "'word'" in result.stdout, result.stderr


# --- from Python ------------------------------------------------------------------------------------


def test_tag_files_returns_a_summary(eager_model, abstracts, tmp_path):
    output = tmp_path / "tagged.jsonl"
    assert tag_files(eager_model, abstracts, output) == TaggingSummary(9)
    assert len(output.read_text().splitlines()) == 9
    assert tag_files(eager_model, [abstracts / "0.txt"], f"{tmp_path}/each/") == TaggingSummary(1)
    assert tag_files(eager_model, [abstracts / "0.txt"], tmp_path / "each") == TaggingSummary(
        0, skipped_files=1
    )


def test_executor_reads_only_a_few_batches_ahead(eager_model):
    """An endless source is tagged as it comes."""
    taken = []

    def endless():
        for number in count():
            taken.append(number)
            yield DocumentChunk(Document("The HeLa line is old. " * 2000))

    parts = executor_module.with_entities(SerialExecutor(Tagger.load(eager_model)), endless())
    assert all(part.document.entities for part in islice(parts, 8))
    assert len(taken) < 20
