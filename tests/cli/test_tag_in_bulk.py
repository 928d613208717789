"""``adaptner tag`` in bulk: folders of results, going on, processes, a bound on memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import OWN, Call, contents, listing, refused, succeeded

from adaptner.formats import lines
from adaptner.tagging import TaggingSummary, tag_files
from adaptner.tagging import executor as executor_module
from adaptner.tagging import folder as folder_module
from adaptner.tagging.processes import SerialExecutor


@pytest.fixture
def abstracts(tmp_path: Path) -> Path:
    folder = tmp_path / "abstracts"
    (folder / "deep").mkdir(parents=True)
    for number in range(6):
        (folder / f"{number}.txt").write_text(f"The HeLa line is old. Text {number}.\n")
    (folder / "deep" / "0.txt").write_text("HeLa too.")
    (folder / "deep" / "b.jsonl").write_text('{"id": "7", "text": "HeLa."}\n{"text": "Rats."}\n')
    return folder


RESULTS = ["tagged-by.json", *(f"{n}.txt.jsonl" for n in range(6))]
DEEP = ["deep", "deep/0.txt.jsonl", "deep/b.jsonl"]


# --- a folder of results ----------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.parametrize("jobs", [1, 2])
def test_folder_output_has_one_result_per_file(
    call: Call, eager_model: Path, abstracts: Path, tmp_path: Path, jobs: int
) -> None:
    output = tmp_path / "out"
    answer = succeeded(call("tag", eager_model, abstracts, "-o", f"{output}/", "--jobs", jobs))
    assert "9 document(s) tagged" in answer.err
    assert listing(output) == sorted([*RESULTS, *DEEP])
    (document,) = map(json.loads, (output / "3.txt.jsonl").read_text().splitlines())
    assert document["text"] == "The HeLa line is old. Text 3.\n"
    assert document["id"] == str(abstracts / "3.txt")
    assert [e["text"] for e in document["entities"]] == ["HeLa"]
    assert len((output / "deep" / "b.jsonl").read_text().splitlines()) == 2


@pytest.mark.processes
def test_processes_find_the_same_as_one(call: Call, eager_model: Path, abstracts: Path) -> None:
    alone = succeeded(call("tag", eager_model, abstracts)).out
    assert succeeded(call("tag", eager_model, abstracts, "--jobs", 3)).out == alone


def test_repeated_run_tags_missing_changed_and_new_files_only(
    call: Call, eager_model: Path, abstracts: Path, tmp_path: Path
) -> None:
    """What is done is left alone; what is missing, changed or new is done."""
    output = tmp_path / "out"
    run = ("tag", eager_model, abstracts, "-o", f"{output}/")
    succeeded(call(*run))
    before = contents(output)
    done = {path: path.stat().st_mtime_ns for path in output.rglob("*.jsonl")}
    (output / "2.txt.jsonl").unlink()
    (abstracts / "4.txt").write_text("Now without cells.")
    earlier = (abstracts / "4.txt").stat().st_mtime_ns - 10**9
    os.utime(output / "4.txt.jsonl", ns=(earlier, earlier))
    (abstracts / "new.txt").write_text("HeLa.")
    answer = succeeded(call(*run))
    assert "3 document(s) tagged, 6 file(s) were tagged by an earlier run" in answer.err
    after = contents(output)
    assert after["2.txt.jsonl"] == before["2.txt.jsonl"]
    assert b"Now without cells." in after["4.txt.jsonl"]
    assert "new.txt.jsonl" in after
    untouched = [p for p in done if p.name not in ("2.txt.jsonl", "4.txt.jsonl")]
    assert all(path.stat().st_mtime_ns == done[path] for path in untouched)
    assert "9 file(s) were tagged by an earlier run" in succeeded(call(*run)).err


def test_crash_leaves_complete_results_only(
    call: Call, eager_model: Path, abstracts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out"
    run = ("tag", eager_model, abstracts, "-o", f"{output}/")
    succeeded(call(*run))
    whole = contents(output)
    shutil.rmtree(output)
    write, seen = folder_module.write_chunks, []

    def crashing(parts, path, *rest):
        seen.append(path)
        if len(seen) == 4:
            parts = (_ for _ in [next(parts), *_crash()])
        write(parts, path, *rest)

    def _crash():
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(folder_module, "write_chunks", crashing)
    assert call(*run).code == 1
    left = contents(output)
    assert len(left) == 4  # three results and the note
    assert left.items() <= whole.items()
    monkeypatch.setattr(folder_module, "write_chunks", write)
    succeeded(call(*run))
    assert contents(output) == whole


def test_results_of_two_models_are_not_mixed(
    call: Call, eager_model: Path, model: Path, abstracts: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    succeeded(call("tag", eager_model, abstracts, "-o", f"{output}/"))
    before = contents(output)
    refused(call("tag", model, abstracts, "-o", f"{output}/"), 1, output, "another model")
    refused(call("tag", eager_model, abstracts, "-o", output, "--to", "html"), 1, "another")
    assert contents(output) == before


def test_foreign_file_in_the_output_folder_is_refused(
    call: Call, eager_model: Path, abstracts: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "3.txt.jsonl").write_text("years of work")
    answer = call("tag", eager_model, abstracts, "-o", output)
    refused(answer, 1, output / "3.txt.jsonl", "not overwritten")
    assert listing(output) == ["3.txt.jsonl"]


def test_results_inside_the_input_folder_are_not_tagged(
    call: Call, eager_model: Path, abstracts: Path
) -> None:
    """They are not tagged in turn."""
    run = ("tag", eager_model, abstracts, "-o", f"{abstracts}/out/")
    succeeded(call(*run))
    first = listing(abstracts)
    assert "8 file(s) were tagged by an earlier run" in succeeded(call(*run)).err
    assert listing(abstracts) == first


def test_links_to_parent_folders_are_not_followed(
    call: Call, eager_model: Path, abstracts: Path
) -> None:
    (abstracts / "deep" / "up").symlink_to(abstracts, target_is_directory=True)
    (abstracts / "link.txt").symlink_to(abstracts / "0.txt")
    assert len(succeeded(call("tag", eager_model, abstracts)).records()) == 10


def test_faulty_file_has_no_result_until_it_is_repaired(
    call: Call, eager_model: Path, abstracts: Path, tmp_path: Path
) -> None:
    bad = abstracts / "deep" / "b.jsonl"
    good = bad.read_bytes()
    bad.write_bytes(good + b"{no JSON}\n")
    run = ("tag", eager_model, abstracts, "-o", f"{tmp_path / 'out'}/")
    for _ in range(2):  # the second run says so again
        answer = call(*run)
        assert answer.code == 1
        assert f"{bad}:3: " in answer.err
        assert "deep/b.jsonl" not in listing(tmp_path / "out")
    bad.write_bytes(good)
    succeeded(call(*run))
    assert "deep/b.jsonl" in listing(tmp_path / "out")


@pytest.mark.parametrize("to", ["conll", "html"])
def test_folder_output_in_other_formats(
    call: Call, eager_model: Path, abstracts: Path, tmp_path: Path, to: str
) -> None:
    succeeded(call("tag", eager_model, abstracts, "-o", f"{tmp_path}/out/", "--to", to))
    assert f"0.txt.{to}" in listing(tmp_path / "out")
    assert "HeLa" in (tmp_path / "out" / f"0.txt.{to}").read_text()


def test_wrong_calls_write_nothing(
    call: Call, eager_model: Path, abstracts: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "0.txt").write_text("HeLa.")
    before = listing(tmp_path)
    refused(call("tag", eager_model, "-o", f"{tmp_path}/out/", stdin="HeLa."), 2, "standard input")
    refused(call("tag", eager_model, abstracts, other, "-o", f"{tmp_path}/out/"), 2, "same result")
    refused(call("tag", eager_model, "--to", "terminal", "-o", "a.txt", stdin="x"), 2, "terminal")
    assert call("tag", eager_model, abstracts, "--jobs", 0).code == 2
    refused(call("tag", eager_model, abstracts, "--jobs", 2, "--ray", "auto"), 2, "--ray")
    assert listing(tmp_path) == before


@pytest.mark.processes
def test_death_of_a_process_is_reported_as_an_error(
    call: Call, eager_model: Path, abstracts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adaptner.models.tagger import Tagger

    monkeypatch.setattr(Tagger, "predict_documents", lambda *_: os._exit(9))
    output = tmp_path / "out.jsonl"
    refused(call("tag", eager_model, abstracts, "--jobs", 2, "-o", output), 1, "--jobs")
    assert not output.exists()


# --- long documents ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_text() -> str:
    """About 300,000 characters with a HeLa on every line."""
    return "The HeLa line is old (cf. Smith et al. 1999). It was kept in RPMI 1640 medium.\n" * 3800


@pytest.mark.slow
@pytest.mark.parametrize("way", ["txt", "jsonl"])
def test_long_document_is_written_in_one_piece(
    call: Call, eager_model: Path, tmp_path: Path, long_text: str, way: str
) -> None:
    file = tmp_path / f"long.{way}"
    file.write_text(long_text if way == "txt" else json.dumps({"text": long_text}) + "\n")
    (document,) = succeeded(call("tag", eager_model, file)).records()
    assert document["text"] == long_text
    found = document["entities"]
    assert all(long_text[e["start"] : e["end"]] == e["text"] for e in found)
    assert [e["start"] for e in found] == sorted(e["start"] for e in found)
    assert sum("HeLa" in e["text"] for e in found) == 3800
    page = succeeded(call("tag", eager_model, file, "--to", "html")).out
    assert page.count("<article>") == page.count("</article>") == 1
    tokens = succeeded(call("tag", eager_model, file, "--to", "conll")).out
    assert tokens.count("\n\n") == 2 * 3800  # sentences, each with a blank line after it


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
def test_control_characters_and_other_scripts_are_preserved(
    call: Call, eager_model: Path, text: str
) -> None:
    document = json.loads(succeeded(call("tag", eager_model, stdin=text)).out)
    assert document["text"] == text
    assert all(text[e["start"] : e["end"]] == e["text"] for e in document["entities"])
    assert "HeLa" in [e["text"] for e in document["entities"]]


@pytest.mark.parametrize("text", ["", " \n\t\r\n ", "HeLa\0cells"])
def test_input_without_text_is_refused(call: Call, eager_model: Path, text: str) -> None:
    refused(
        call("tag", eager_model, stdin=text), 1, "NUL character" if text.strip() else "no sentences"
    )


def test_empty_texts_among_others_have_no_entities(call: Call, eager_model: Path) -> None:
    lines = '{"text": ""}\n{"text": " "}\n{"text": "The HeLa line is old."}\n'
    records = succeeded(call("tag", eager_model, "--from", "jsonl", stdin=lines)).records()
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
def test_memory_does_not_grow_with_the_input(eager_model: Path, tmp_path: Path) -> None:
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


def test_overlong_line_of_jsonl_is_reported_and_skipped(
    call: Call, eager_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10_000)
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "HeLa."}\n' + json.dumps({"text": "x " * 10_000}) + "\n")
    answer = call("tag", eager_model, file)
    assert answer.code == 1
    assert f"{file}:2: the line is longer than" in answer.err
    assert [d["text"] for d in answer.records()] == ["HeLa."]


# --- cold start -------------------------------------------------------------------------------------


@pytest.mark.processes
def test_wrong_format_is_refused_before_torch_is_loaded(child, tmp_path: Path) -> None:
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


@pytest.mark.slow
@pytest.mark.processes
def test_tag_loads_no_more_than_it_needs(child, eager_model: Path) -> None:
    """Methods, corpora and learning are no part of a cold start."""
    result = child(
        "import io, sys\n"
        "from adaptner.cli.main import main\n"
        "sys.stdin = io.TextIOWrapper(io.BytesIO(b'HeLa.'))\n"
        f"sys.argv = ['adaptner', 'tag', {str(eager_model)!r}]\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "extra = [m for m in sys.modules if m.startswith(('adaptner.methods', 'adaptner.corpora',\n"
        "    'adaptner.reproduce', 'adaptner.bilevel', 'adaptner.episodes', 'ray', 'spacy'))]\n"
        "sys.exit(str(extra) if extra else 0)\n"
    )
    assert result.returncode == 0, result.stderr


# --- from Python ------------------------------------------------------------------------------------


def test_tag_files_returns_a_summary(eager_model: Path, abstracts: Path, tmp_path: Path) -> None:
    output = tmp_path / "tagged.jsonl"
    assert tag_files(eager_model, abstracts, output) == TaggingSummary(9)
    assert len(output.read_text().splitlines()) == 9
    assert tag_files(eager_model, [abstracts / "0.txt"], f"{tmp_path}/each/") == TaggingSummary(1)
    assert tag_files(eager_model, [abstracts / "0.txt"], tmp_path / "each") == TaggingSummary(
        0, skipped_files=1
    )


def test_executor_reads_only_a_few_batches_ahead(eager_model: Path) -> None:
    """An endless source is tagged as it comes."""
    from itertools import count, islice

    from adaptner.formats.chunks import DocumentChunk
    from adaptner.models.tagger import Tagger
    from adaptner.types import Document

    taken = []

    def endless():
        for number in count():
            taken.append(number)
            yield DocumentChunk(Document("The HeLa line is old. " * 2000))

    parts = executor_module.with_entities(SerialExecutor(Tagger.load(eager_model)), endless())
    assert all(part.document.entities for part in islice(parts, 8))
    assert len(taken) < 20
