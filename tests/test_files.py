"""Tests that files and folders appear complete or not at all, whatever fails on the way."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from adaptner.errors import DiskFull, OutputExists
from adaptner.files import atomic_file, atomic_folder, digest, scratch_folder


class Crash(Exception):
    pass


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture
def umask():
    """Sets the umask of the process for one test."""
    original = os.umask(0o022)
    os.umask(original)
    yield os.umask
    os.umask(original)


def write_and_raise(target: Path, error: BaseException) -> None:
    with atomic_file(target) as file:
        file.write("half of the n")
        raise error


# --- one file -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "content"), [("w", "né\n"), ("wb", b"\x00\xff\r\n")])
def test_file_is_written_and_replaced(tmp_path, mode, content):
    target = tmp_path / "deep" / "er" / "a.txt"
    for _ in range(2):
        with atomic_file(target, mode) as file:
            file.write(content)
    assert target.read_bytes() == (content if mode == "wb" else content.encode())
    assert names(target.parent) == ["a.txt"]


def test_file_does_not_exist_before_the_block_ends(tmp_path):
    target = tmp_path / "a.txt"
    with atomic_file(target) as file:
        file.write("new")
        file.flush()
        assert not target.exists()
    assert target.read_text() == "new"


@pytest.mark.parametrize("crash", [Crash, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", [None, "old"])
def test_exception_in_the_block_leaves_the_old_file(tmp_path, old, crash):
    target = tmp_path / "a.txt"
    if old is not None:
        target.write_text(old)
    with pytest.raises(crash):
        write_and_raise(target, crash())
    assert names(tmp_path) == ([] if old is None else ["a.txt"])
    assert old is None or target.read_text() == old


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_full_disk_while_the_file_is_renamed_leaves_the_old_file(tmp_path, monkeypatch, call):
    target = tmp_path / "a.txt"
    target.write_text("old")
    monkeypatch.setattr(f"adaptner.files.os.{call}", no_space)
    with pytest.raises(DiskFull) as error, atomic_file(target) as file:
        file.write("new")
    assert str(target) in str(error.value)
    monkeypatch.undo()
    assert names(tmp_path) == ["a.txt"]
    assert target.read_text() == "old"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_while_the_file_is_written_leaves_the_old_file(tmp_path, code):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(DiskFull):
        write_and_raise(target, OSError(code, os.strerror(code)))
    assert names(tmp_path) == ["a.txt"]
    assert target.read_text() == "old"


def test_other_errors_of_the_block_are_not_translated(tmp_path):
    with pytest.raises(ConnectionError), atomic_file(tmp_path / "a.txt"):
        raise ConnectionResetError(errno.ECONNRESET, "gone")
    assert names(tmp_path) == []


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_file_and_folder_follow_the_umask(tmp_path, umask, mask):
    umask(mask)
    with atomic_file(tmp_path / "a.txt") as file:
        file.write("x")
    with atomic_folder(tmp_path / "m", marker="manifest.json", kind="a model") as folder:
        (folder / "manifest.json").write_text("{}")
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o777 & ~mask
    assert umask(mask) == mask  # unchanged


def test_digest_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert digest(tmp_path / "a") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


# --- a folder -------------------------------------------------------------------------------------


def fill(target: Path, content: str, crash: type[BaseException] | None = None) -> None:
    with atomic_folder(target, marker="manifest.json", kind="a model of ours") as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "data").write_text(content)
        if crash is not None:
            raise crash
        (folder / "manifest.json").write_text(content)


def read(target: Path) -> tuple[list[str], str]:
    return names(target), (target / "sub" / "data").read_text()


def test_folder_is_created_and_replaced(tmp_path):
    target = tmp_path / "deep" / "model"
    fill(target, "one")
    (target / "extra").write_text("of the first version")
    fill(target, "two")
    assert read(target) == (["manifest.json", "sub"], "two")
    assert names(target.parent) == ["model"]


def test_empty_folder_is_replaced(tmp_path):
    (tmp_path / "model").mkdir()
    fill(tmp_path / "model", "one")
    assert read(tmp_path / "model") == (["manifest.json", "sub"], "one")


@pytest.mark.parametrize("crash", [Crash, KeyboardInterrupt])
@pytest.mark.parametrize("exists", [True, False])
def test_exception_in_the_block_leaves_the_old_folder(tmp_path, exists, crash):
    target = tmp_path / "model"
    if exists:
        fill(target, "old")
    with pytest.raises(crash):
        fill(target, "new", crash)
    assert names(tmp_path) == (["model"] if exists else [])
    assert not exists or read(target) == (["manifest.json", "sub"], "old")


@pytest.mark.parametrize("failing", [1, 2])
def test_failed_rename_leaves_the_old_folder(tmp_path, monkeypatch, failing):
    """Either of the two renames may fail, for example because of a full disk."""
    target = tmp_path / "model"
    fill(target, "old")
    calls, real = [], os.replace

    def replace(*args: object) -> None:
        calls.append(args)
        if len(calls) == failing:
            no_space()
        real(*args)

    monkeypatch.setattr("adaptner.files.os.replace", replace)
    with pytest.raises(DiskFull):
        fill(target, "new")
    monkeypatch.undo()
    assert names(tmp_path) == ["model"]
    assert read(target) == (["manifest.json", "sub"], "old")


def test_folder_without_the_marker_is_not_replaced(tmp_path):
    target = tmp_path / "thesis"
    target.mkdir()
    (target / "chapter1.tex").write_text("years of work")
    with pytest.raises(OutputExists, match="not a model of ours") as error:
        fill(target, "new")
    assert str(target) in str(error.value)
    assert names(tmp_path) == ["thesis"]
    assert (target / "chapter1.tex").read_text() == "years of work"


def test_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(OutputExists):
        fill(tmp_path / "notes", "new")
    assert (tmp_path / "notes").read_text() == "mine"
    assert names(tmp_path) == ["notes"]


# --- a real full disk -----------------------------------------------------------------

ON_A_TINY_DISK = """
import os, subprocess, sys
from pathlib import Path
disk, base = Path(sys.argv[1]), sys.argv[2]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], check=True)
import torch
torch.set_num_threads(1)
from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import DiskFull
from adaptner.files import atomic_file
from adaptner.models.base import Base
from adaptner.training.budget import Budget
from adaptner.training.records import MetricsFile

def refused(what, action):
    try:
        action()
    except DiskFull as error:
        assert str(disk) in str(error), error
        print(what, sorted(str(p.relative_to(disk)) for p in disk.rglob("*")))
    else:
        print(what, "was written")

def write_file():
    with atomic_file(disk / "big", "wb") as file:
        file.write(bytes(1 << 20))

loaded = Base.load(base)
tagger = fine_tune(loaded, bundled_corpus("cellline").split("train")[:5], FineTuneConfig(steps=1))
refused("file", write_file)
(disk / "ballast").write_bytes(bytes(100 << 10))
(disk / "model").mkdir()
refused("tagger", lambda: tagger.save(disk / "model"))
refused("base", lambda: loaded.save(disk / "base"))
assert not (disk / "base" / "manifest.json").exists()

def write_metrics():
    metrics = MetricsFile(disk / "metrics.jsonl")
    for number in range(10_000):
        metrics.add(iteration=number, loss=1.5, remark="x" * 50)
        metrics.flush()

refused("metrics", write_metrics)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_full_disk_raises_and_leaves_no_temporary_files(tmp_path, frozen_base_folder):
    """Runs in a separate mount namespace, so that the small disk vanishes with the process."""
    unshare = shutil.which("unshare")
    disk = tmp_path / "disk"
    disk.mkdir()
    probe = [unshare or "unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=128k", "t", str(disk)]
    if unshare is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root and util-linux")
    script = [sys.executable, "-c", ON_A_TINY_DISK, str(disk), str(frozen_base_folder)]
    done = subprocess.run([unshare, "-m", *script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "file []"
    assert lines[1] == "tagger ['ballast', 'model']"
    name, _, remaining = lines[2].partition(" ")
    assert name == "base"
    assert "manifest" not in remaining
    assert "/." not in remaining  # no temporary file
    assert lines[3].startswith("metrics [")
    assert names(disk) == []


# --- a scratch folder -----------------------------------------------------------------------


@pytest.mark.parametrize("error", [Crash(), KeyboardInterrupt(), SystemExit(1), None])
def test_scratch_folder_is_deleted_after_success_and_exceptions(tmp_path, error):
    try:
        with scratch_folder(tmp_path / "deep" / "result") as folder:
            (folder / "text").write_text("much")
            assert folder.parent == tmp_path / "deep"
            assert folder.name.startswith(".")
            if error is not None:
                raise error
    except (Crash, KeyboardInterrupt, SystemExit):
        assert error is not None
    assert names(tmp_path / "deep") == []


def test_full_disk_in_a_scratch_folder_raises(tmp_path):
    with pytest.raises(DiskFull), scratch_folder(tmp_path / "result"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names(tmp_path) == []
