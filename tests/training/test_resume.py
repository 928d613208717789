"""A resumed run ends with the same bytes as an uninterrupted one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from adaptner.errors import RunNotResumable
from adaptner.models.storage import WEIGHTS
from adaptner.training.checkpoint import CHECKPOINT_FILE
from adaptner.training.loop import HARDNESS, METRICS, TrainingRun

STEPS = 12
Tensors = dict[str, torch.Tensor]
CHARS = "model.encoder.chars"
WRITTEN = (WEIGHTS, METRICS, HARDNESS, "manifest.json", "words.txt")


class Interrupted(Exception):
    pass


def interrupt_at(iteration: int):
    def progress(done: int, total: int, remark: str = "") -> None:
        if done == iteration:
            raise Interrupted

    return progress


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in WRITTEN}


@pytest.fixture(scope="module")
def uninterrupted(fit, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    fit(STEPS, TrainingRun(folder, "same")).save(folder)
    return folder


def test_uninterrupted_run_records_every_iteration(uninterrupted):
    metrics = [json.loads(x) for x in (uninterrupted / METRICS).read_text().splitlines()]
    assert [m["iteration"] for m in metrics] == list(range(1, STEPS + 1))
    hard = [json.loads(x) for x in (uninterrupted / HARDNESS).read_text().splitlines()]
    assert {h["iteration"] for h in hard} == {1, 2, 4, 6, 8, 10, 12}
    assert all(set(h["gamma"]) == {"encoder", "decoder", "head"} for h in hard)


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint_seconds", [0.0, 0.05])
@pytest.mark.parametrize("at", [1, 7])
def test_run_resumed_after_an_exception_gives_the_same_bytes(
    fit, uninterrupted, tmp_path, at, checkpoint_seconds
):
    run = TrainingRun(
        tmp_path, "same", checkpoint_seconds=checkpoint_seconds, progress=interrupt_at(at)
    )
    with pytest.raises(Interrupted):
        fit(STEPS, run)
    fit(STEPS, TrainingRun(tmp_path, "same", resume=True)).save(tmp_path)
    assert contents(tmp_path) == contents(uninterrupted)


def test_run_resumed_twice_gives_the_same_bytes(fit, uninterrupted, tmp_path):
    for at in (4, 9):
        with pytest.raises(Interrupted):
            fit(
                STEPS,
                TrainingRun(
                    tmp_path, "same", True, checkpoint_seconds=0, progress=interrupt_at(at)
                ),
            )
    fit(STEPS, TrainingRun(tmp_path, "same", resume=True)).save(tmp_path)
    assert contents(tmp_path) == contents(uninterrupted)


def test_run_with_adamw_resumes_with_the_same_bytes(fit, tmp_path):
    adamw = {"optimiser": {"name": "adamw", "weight_decay": 0.01}}
    fit(6, TrainingRun(tmp_path / "a", "x"), **adamw).save(tmp_path / "a")
    run = TrainingRun(tmp_path / "b", "x", checkpoint_seconds=0, progress=interrupt_at(4))
    with pytest.raises(Interrupted):
        fit(6, run, **adamw)
    fit(6, TrainingRun(tmp_path / "b", "x", resume=True), **adamw).save(tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_resuming_a_finished_run_changes_nothing(fit, uninterrupted, tmp_path):
    folder = shutil.copytree(uninterrupted, tmp_path / "run")
    fit(STEPS, TrainingRun(folder, "same", resume=True)).save(folder)
    assert contents(folder) == contents(uninterrupted)


CHILD = """
import sys, time
from pathlib import Path
import torch
torch.set_num_threads(1)
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.bundled import bundled_corpus
from adaptner.methods.hgda import HGDA
from adaptner.corpora.sources import source_domains
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun

def report(done, total, remark=""):
    print(done, flush=True)
    if done == 7:  # the parent kills this process here
        time.sleep(600)

tiny = EncoderConfig(word_width=16, char_embedding=8, char_cnn_filters=8, char_lstm=8, hidden=12)
sources = source_domains(group_by_domain([bundled_corpus(n) for n in ("disease", "drug", "gene")]))
method = HGDA(encoder=tiny, k=3, tasks=2, record_every=2)
run = TrainingRun(Path(sys.argv[1]), "same", checkpoint_seconds=0, progress=report)
method.fit(sources, Budget(int(sys.argv[2])), seed=0, run=run)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_run_resumed_after_sigkill_gives_the_same_bytes(fit, uninterrupted, tmp_path):
    """A run in another process, killed during training and resumed here."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path), str(STEPS)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert child.stdout is not None
    try:
        for line in child.stdout:
            if int(line) == 7:
                break
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert child.returncode == -signal.SIGKILL
    assert not (tmp_path / WEIGHTS).exists()
    with safe_open(tmp_path / CHECKPOINT_FILE, framework="pt") as file:
        done = json.loads(file.metadata()["state"])["done"]
    assert done == 6
    # the kill may have cut the last record inside a character
    with open(tmp_path / HARDNESS, "ab") as file:
        file.write('{"iteration": 99, "sentences": ["µ'.encode()[:-1])
    fit(STEPS, TrainingRun(tmp_path, "same", resume=True)).save(tmp_path)
    assert contents(tmp_path) == contents(uninterrupted)


def test_progress_and_checkpoints_do_not_change_the_result(fit, uninterrupted, tmp_path):
    fit(STEPS).save(tmp_path)  # without a run folder
    assert (tmp_path / WEIGHTS).read_bytes() == (uninterrupted / WEIGHTS).read_bytes()


def test_another_seed_gives_another_model(fit, tuned_base):
    one, other = tuned_base.model.state_dict(), fit(3, seed=1).model.state_dict()
    assert all(not torch.equal(one[n], other[n]) for n in one)


def test_another_fingerprint_raises(fit, tmp_path):
    fit(2, TrainingRun(tmp_path, "this configuration"))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(RunNotResumable, match="configuration or sources differ") as error:
        fit(4, TrainingRun(tmp_path, "that configuration", resume=True))
    assert str(tmp_path / CHECKPOINT_FILE) in str(error.value)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_new_run_removes_an_old_checkpoint(fit, uninterrupted, tmp_path):
    """A run that is interrupted before its first checkpoint must not resume from that of an earlier run, whose
    records are gone."""
    fit(3, TrainingRun(tmp_path, "same"))
    with pytest.raises(Interrupted):
        fit(STEPS, TrainingRun(tmp_path, "same", progress=interrupt_at(1)))
    fit(STEPS, TrainingRun(tmp_path, "same", resume=True)).save(tmp_path)
    assert contents(tmp_path) == contents(uninterrupted)


def change_tensors(path: Path, change: Callable[[Tensors], Tensors]) -> None:
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    save_file(change(load_file(path)), path, metadata)


def without_chars(tensors: Tensors) -> Tensors:
    return {n: t for n, t in tensors.items() if n != CHARS}


def with_narrow_chars(tensors: Tensors) -> Tensors:
    return {**tensors, CHARS: tensors[CHARS][:, :-1].contiguous()}


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path: path.write_bytes(b""),
    "another file": lambda path: path.write_bytes(b"\x80\x04not a checkpoint" * 50),
    "no metadata": lambda path: save_file(load_file(path), path),
    "no counters": lambda path: save_file(
        load_file(path), path, {"state": json.dumps({"fingerprint": "x"})}
    ),
    "no parameter": lambda path: change_tensors(path, without_chars),
    "another shape": lambda path: change_tensors(path, with_narrow_chars),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_checkpoint_raises(fit, tmp_path, damage):
    fit(2, TrainingRun(tmp_path, "x"))
    DAMAGES[damage](tmp_path / CHECKPOINT_FILE)
    with pytest.raises(RunNotResumable) as error:
        fit(4, TrainingRun(tmp_path, "x", resume=True))
    assert str(tmp_path / CHECKPOINT_FILE) in str(error.value)
    assert "without --resume" in str(error.value)
