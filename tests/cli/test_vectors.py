"""``adaptner vectors``: training, looking, wrong calls, and Ctrl-C in the middle."""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import OWN, Call, listing, manifest_of
from store_kit import until

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.overlap import fingerprint, fingerprints
from adaptner.corpora.raw_text import sentences_of_files

PROGRAM = Path(sys.executable).parent / "adaptner"
TINY = ("--width", 16, "--epochs", 1, "--min-count", 2, "--buckets", 300, "--threads", 1)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("floret")
    folder = tmp_path_factory.mktemp("texts")
    for name in ("gene", "disease"):
        lines = "".join(f"{' '.join(s.tokens)}\n" for s in bundled_corpus(name).split("train"))
        (folder / f"{name}.txt.xz").write_bytes(lzma.compress(lines.encode()))
    return folder


@pytest.fixture
def vectors(call: Call, text: Path, tmp_path: Path) -> Path:
    answer = call("vectors", "train", text, "-o", tmp_path / "v.safetensors", "-q", *TINY)
    assert (answer.code, answer.err) == (0, "")
    return tmp_path / "v.safetensors"


@pytest.mark.slow
@pytest.mark.processes
def test_context_is_adapted_and_started_from(call, vectors, text, config, tmp_path):
    options = ("--vectors", vectors, "--steps", 3, "--hidden", 8, "--json", "-q")
    answer = call("vectors", "context", text, *options, "-o", tmp_path / "context")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["iterations"] == 3
    adapted = ("--base", tmp_path / "context", "-q", "-o", tmp_path / "model")
    call.ok("adapt", OWN / "cellline" / "train.jsonl", *adapted)
    start = ("--start", tmp_path / "context", "--iterations", 2, "-q", "-o", tmp_path / "base")
    sources = ("--sources", OWN / "disease", OWN / "drug", "--config", config)
    call.ok("pretrain", *sources, *start)
    manifest = manifest_of(tmp_path / "base")
    assert manifest["encoder"]["hidden"] == 8
    assert manifest["facts"]["start"]["iterations"] == 3
    both = call("pretrain", *sources, *start, "--vectors", vectors)
    assert both.code == 2
    assert "leave out --vectors" in both.err


@pytest.mark.processes
def test_train_near_and_a_base_over_them(call, vectors, config, tmp_path):
    answer = call("vectors", "near", vectors, "gene", "unheardly", "-n", 3)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[0] == "gene"
    assert answer.out.splitlines()[4] == "unheardly (composed of its n-grams)"
    assert len(answer.out.splitlines()) == 8
    sources = ("--sources", OWN / "disease", OWN / "drug")
    options = ("--config", config, "--iterations", 2, "-q", "--vectors", vectors)
    call.ok("pretrain", *sources, *options, "-o", tmp_path / "base")
    assert "vectors.safetensors" in listing(tmp_path / "base")
    assert not list((tmp_path / "base").glob("*.npy"))
    adapted = ("--base", tmp_path / "base", "-q", "-o", tmp_path / "model")
    call.ok("adapt", OWN / "cellline" / "train.jsonl", *adapted)
    tagged = call.ok("tag", tmp_path / "model", stdin="The unheardly HeLa cells.\n")
    assert tagged.records()[0]["text"] == "The unheardly HeLa cells.\n"


def test_count_makes_vectors_of_an_even_width(call, text, tmp_path):
    pytest.importorskip("scipy")
    options = ("--width", 16, "--min-count", 2, "--buckets", 300, "-o", tmp_path / "c.safetensors")
    answer = call.ok("vectors", "count", text, *options)
    assert "words of 16 numbers, 300 rows of n-grams" in answer.out
    near = call.ok("vectors", "near", tmp_path / "c.safetensors", "expression", "-n", 3)
    assert len(near.out.splitlines()) == 4
    odd = call("vectors", "count", text, "--width", 7, "-o", tmp_path / "odd.safetensors")
    assert (odd.code, "give --width 8" in odd.err) == (2, True)


@pytest.mark.processes
def test_json_reports_file_and_neighbours(call, text, tmp_path):
    output = tmp_path / "v.safetensors"
    answer = call("vectors", "train", text, "-o", output, "--json", *TINY)
    assert (answer.code, answer.err) == (0, "")
    facts = json.loads(answer.out)
    assert facts["file"] == str(output)
    assert facts["width"] == 16
    assert facts["buckets"] == 300
    assert facts["words"] > 200
    assert facts["bytes"] == output.stat().st_size
    near = json.loads(call("vectors", "near", output, "GENE", "§", "-n", 2, "--json").out)
    assert [n["word"] for n in near] == ["GENE", "§"]
    assert [n["known"] for n in near] == [True, False]
    assert len(near[0]["near"]) == 2
    assert near[1]["near"] is None


@pytest.mark.processes
def test_walks_and_held_out_sentences_are_reported(call, text, tmp_path):
    header = "id\tname\tsynonyms\tparents\tnote\n"
    concepts = "D1\tUnheard-of disease\tUHD|Unheardness\t\t\nD2\tOther\t\tD1|D9\tC01\n"
    (tmp_path / "terms.tsv.xz").write_bytes(lzma.compress((header + concepts).encode()))
    (tmp_path / "gene").mkdir()
    train = bundled_corpus("gene").folder / "train.jsonl"
    (tmp_path / "gene" / "test.jsonl").write_bytes(train.read_bytes())
    options = ("--walks", tmp_path / "terms.tsv.xz", "--held-out", tmp_path / "gene")
    output = tmp_path / "v.safetensors"
    answer = call("vectors", "train", text, *options, "-o", output, *TINY)
    assert answer.code == 0
    prints = fingerprints(bundled_corpus("gene").split("train"))
    count = sum(fingerprint(s) in prints for s in sentences_of_files([text]))
    assert count > 20
    assert f"{count} sentences left out (in a held-out test set)" in answer.err
    assert "20 walks mixed into " in answer.err
    near = call("vectors", "near", output, "unheardness", "-n", 1)
    assert near.out.splitlines()[0] == "unheardness"


@pytest.mark.processes
def test_word_without_a_vector_fails(call, vectors):
    answer = call("vectors", "near", vectors, "§", "gene")
    assert answer.code == 1
    assert "§ has no vector" in answer.err
    assert answer.out.startswith("gene\n")


@pytest.mark.processes
def test_tokenise_splits_running_text(call, text, tmp_path):
    (tmp_path / "t.txt").write_text("BRCA1-mutant (10 cells).\n" * 9)
    output = tmp_path / "v.safetensors"
    options = ("-o", output, "-q", "--tokenise", "--keep-case", *TINY)
    call.ok("vectors", "train", tmp_path / "t.txt", *options)
    from adaptner.vectors.word_vectors import read_vectors

    assert set(read_vectors(output).words) == {"BRCA1", "-", "mutant", "(", "10", "cells", ")", "."}


WRONG: dict[str, tuple[tuple[object, ...], int, str]] = {
    "odd width": (("T", "-o", "v.safetensors", "--width", 15), 2, "--width 16"),
    "no width": (("T", "-o", "v.safetensors", "--width", 0), 2, "--width"),
    "other ending": (("T", "-o", "v.vec"), 2, ".safetensors"),
    "no output": (("T",), 2, "-o"),
    "no text": (("-o", "v.safetensors"), 2, "TEXT"),
    "grams": (("T", "-o", "v.safetensors", "--ngrams", "5-4"), 2, "--ngrams 4-5"),
    "grams of letters": (("T", "-o", "v.safetensors", "--ngrams", "a-b"), 2, "--ngrams 4-5"),
    "missing": (("none.txt", "-o", "v.safetensors"), 1, "none.txt"),
    "unknown ending": (("t.pdf", "-o", "v.safetensors"), 2, ".txt, .gz, .xz"),
    "empty": (("empty.txt", "-o", "v.safetensors"), 1, "no sentence"),
    "damaged": (("cut.xz", "-o", "v.safetensors"), 1, "damaged or truncated"),
    "not UTF-8": (("latin.txt", "-o", "v.safetensors"), 1, "latin.txt:1: not valid UTF-8"),
    "no number": (("T", "-o", "v.safetensors", "--rate", "nan"), 2, "--rate nan"),
    "no sampling": (("T", "-o", "v.safetensors", "--sampling", 0), 2, "--sampling 0.0"),
    "no terminology": (("T", "-o", "v.safetensors", "--walks", "no.tsv"), 1, "no.tsv: no such"),
    "bad terminology": (("T", "-o", "v.safetensors", "--walks", "bad.tsv"), 1, "bad.tsv:1: not us"),
    "no test set": (("T", "-o", "v.safetensors", "--held-out", "no"), 1, "no: no such file"),
    "rare": (("rare.txt", "-o", "v.safetensors"), 1, "--min-count"),
}


@pytest.mark.processes
@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_and_bad_text(call, text, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").touch()
    Path("t.pdf").touch()
    Path("bad.tsv").write_text("D1\tname\n")
    Path("rare.txt").write_text("one two three\n")
    Path("latin.txt").write_bytes(b"na\xefve\n")
    Path("cut.xz").write_bytes((text / "gene.txt.xz").read_bytes()[:-200])
    before = listing(tmp_path)
    arguments, code, message = WRONG[case]
    answer = call("vectors", "train", *(text if a == "T" else a for a in arguments))
    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert "Traceback" not in answer.err
    assert listing(tmp_path) == before


def test_near_refuses_files_without_vectors(call, tmp_path):
    (tmp_path / "v.safetensors").write_bytes(b"\0" * 100)
    answer = call("vectors", "near", tmp_path / "v.safetensors", "gene")
    assert answer.code == 1
    assert "not usable as word vectors" in answer.err
    assert call("vectors", "near", tmp_path / "none.vec", "gene").code == 1


def test_missing_floret_names_the_extra(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "floret", None)
    answer = call("vectors", "train", tmp_path, "-o", tmp_path / "v.safetensors")
    assert answer.code == 1
    assert "pip install 'adaptner[vectors]'" in answer.err


# --- stopped in the middle --------------------------------------------------------------------------


def children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        pytest.skip("this system does not tell the children of a process")


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_interrupt_while_floret_trains_leaves_the_output_unchanged(text, tmp_path, sent):
    """Its loop does not hear signals: it must end with us all the same."""
    (tmp_path / "v.safetensors").write_bytes(b"what was there")
    run = subprocess.Popen(
        [PROGRAM, "vectors", "train", text, "-o", tmp_path / "v.safetensors",
         *map(str, TINY), "--epochs", "100000", "-q"],
        stderr=subprocess.PIPE,
        text=True,
        # whoever started the tests in the background may have had Ctrl-C ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        until(lambda: children(run.pid), "the worker")
        (worker,) = children(run.pid)
        until(lambda: _seconds(worker) > 1.5, "training")  # by now it has left Python's hands
        run.send_signal(sent)
        _, printed = run.communicate(timeout=60)
        until(lambda: not alive(worker), "the end of the worker")
    finally:
        run.kill()
        run.wait()
    assert (tmp_path / "v.safetensors").read_bytes() == b"what was there"
    assert listing(tmp_path) == ["v.safetensors"]
    if sent == signal.SIGINT:
        assert (run.returncode, printed) == (1, "error: interrupted\n")


def _seconds(pid: int) -> float:
    """Of computing, so far."""
    if not alive(pid):
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
