"""A folder of results: one for each file, completed by a repeated run, never mixed."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from cli_kit import contents, listing, refused

from adaptner.tagging import folder as folder_module

RESULTS = ["tagged-by.json", *(f"{n}.txt.jsonl" for n in range(6))]
DEEP = ["deep", "deep/0.txt.jsonl", "deep/b.jsonl"]


@pytest.mark.processes
@pytest.mark.parametrize("jobs", [1, 2])
def test_folder_output_has_one_result_per_file(call, eager_model, abstracts, tmp_path, jobs):
    output = tmp_path / "out"
    answer = call.ok("tag", eager_model, abstracts, "-o", f"{output}/", "--jobs", jobs)
    assert "9 document(s) tagged" in answer.err
    assert listing(output) == sorted([*RESULTS, *DEEP])
    (document,) = map(json.loads, (output / "3.txt.jsonl").read_text().splitlines())
    assert document["text"] == "The HeLa line is old. Text 3.\n"
    assert document["id"] == str(abstracts / "3.txt")
    assert [e["text"] for e in document["entities"]] == ["HeLa"]
    assert len((output / "deep" / "b.jsonl").read_text().splitlines()) == 2


def test_repeated_run_tags_missing_changed_and_new_files_only(
    call, eager_model, abstracts, tmp_path
):
    """What is done is left alone; what is missing, changed or new is done."""
    output = tmp_path / "out"
    run = ("tag", eager_model, abstracts, "-o", f"{output}/")
    call.ok(*run)
    before = contents(output)
    done = {path: path.stat().st_mtime_ns for path in output.rglob("*.jsonl")}
    (output / "2.txt.jsonl").unlink()
    (abstracts / "4.txt").write_text("Now without cells.")
    earlier = (abstracts / "4.txt").stat().st_mtime_ns - 10**9
    os.utime(output / "4.txt.jsonl", ns=(earlier, earlier))
    (abstracts / "new.txt").write_text("HeLa.")
    answer = call.ok(*run)
    assert "3 document(s) tagged, 6 file(s) were tagged by an earlier run" in answer.err
    after = contents(output)
    assert after["2.txt.jsonl"] == before["2.txt.jsonl"]
    assert b"Now without cells." in after["4.txt.jsonl"]
    assert "new.txt.jsonl" in after
    untouched = [p for p in done if p.name not in ("2.txt.jsonl", "4.txt.jsonl")]
    assert all(path.stat().st_mtime_ns == done[path] for path in untouched)
    assert "9 file(s) were tagged by an earlier run" in call.ok(*run).err


def test_crash_leaves_complete_results_only(call, eager_model, abstracts, tmp_path, monkeypatch):
    output = tmp_path / "out"
    run = ("tag", eager_model, abstracts, "-o", f"{output}/")
    call.ok(*run)
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
    call.ok(*run)
    assert contents(output) == whole


def test_results_of_two_models_are_not_mixed(call, eager_model, workshop, abstracts, tmp_path):
    output = tmp_path / "out"
    call.ok("tag", eager_model, abstracts, "-o", f"{output}/")
    before = contents(output)
    refused(
        call("tag", workshop / "model", abstracts, "-o", f"{output}/"), 1, output, "another model"
    )
    refused(call("tag", eager_model, abstracts, "-o", output, "--to", "html"), 1, "another")
    assert contents(output) == before


def test_foreign_file_in_the_output_folder_is_refused(call, eager_model, abstracts, tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    (output / "3.txt.jsonl").write_text("years of work")
    answer = call("tag", eager_model, abstracts, "-o", output)
    refused(answer, 1, output / "3.txt.jsonl", "not overwritten")
    assert listing(output) == ["3.txt.jsonl"]


def test_results_inside_the_input_folder_are_not_tagged(call, eager_model, abstracts):
    """They are not tagged in turn."""
    run = ("tag", eager_model, abstracts, "-o", f"{abstracts}/out/")
    call.ok(*run)
    first = listing(abstracts)
    assert "8 file(s) were tagged by an earlier run" in call.ok(*run).err
    assert listing(abstracts) == first


def test_links_to_parent_folders_are_not_followed(call, eager_model, abstracts):
    (abstracts / "deep" / "up").symlink_to(abstracts, target_is_directory=True)
    (abstracts / "link.txt").symlink_to(abstracts / "0.txt")
    assert len(call.ok("tag", eager_model, abstracts).records()) == 10


def test_faulty_file_has_no_result_until_it_is_repaired(call, eager_model, abstracts, tmp_path):
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
    call.ok(*run)
    assert "deep/b.jsonl" in listing(tmp_path / "out")


@pytest.mark.parametrize("to", ["conll", "html"])
def test_folder_output_in_other_formats(call, eager_model, abstracts, tmp_path, to):
    call.ok("tag", eager_model, abstracts, "-o", f"{tmp_path}/out/", "--to", to)
    assert f"0.txt.{to}" in listing(tmp_path / "out")
    assert "HeLa" in (tmp_path / "out" / f"0.txt.{to}").read_text()


def test_wrong_calls_write_nothing(call, eager_model, abstracts, tmp_path):
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
