"""``adaptner tag --ray``: what nodes find is what this process finds, and a run goes on."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_kit import contents, refused

pytestmark = pytest.mark.slow

ray = pytest.importorskip("ray", reason="Ray is not installed (extra `cluster`)")


@pytest.fixture
def ray_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where Ray itself does not run, the test is skipped: that is not what it tests."""
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp" if Path("/tmp").is_dir() else None)
    for name, value in {
        "RAY_TMPDIR": folder,  # short, since sockets lie in it
        "TMPDIR": folder,
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "120",
        "OMP_NUM_THREADS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    options = {"num_cpus": 2, "object_store_memory": 80 << 20, "include_dashboard": False}
    try:
        try:
            ray.init(address="local", log_to_driver=False, logging_level="error", **options)
        except Exception as error:
            pytest.skip(f"Ray does not run here: {error}")
        # The command connects to this cluster instead of starting one, and leaves it running.
        monkeypatch.setattr("adaptner.tagging.on_ray.connected", lambda address: ray)
        monkeypatch.setattr(ray, "shutdown", lambda: None)
        yield
    finally:
        monkeypatch.undo()
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.processes
def test_a_folder_on_a_cluster_goes_on_where_it_stopped(call, eager_model, tmp_path, ray_runs):
    folder = tmp_path / "abstracts"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.txt").write_text(f"The HeLa line is old. Text {number}.\n" * 20)
    here = ("tag", eager_model, folder, "-o", f"{tmp_path}/here/")
    call.ok(*here)
    there = tmp_path / "there"
    shutil.copytree(tmp_path / "here", there)
    kept = sorted(there.glob("*.txt.jsonl"))[:3]
    for path in set(there.glob("*.txt.jsonl")) - set(kept):
        path.unlink()
    times = [path.stat().st_mtime_ns for path in kept]
    answer = call.ok("tag", eager_model, folder, "-o", there, "--ray", "local")
    assert "5 document(s) tagged, 3 file(s) were tagged by an earlier run" in answer.err
    assert contents(there) == contents(tmp_path / "here")
    assert [path.stat().st_mtime_ns for path in kept] == times


@pytest.mark.processes
def test_nobody_at_the_address(call, eager_model, tmp_path):
    (tmp_path / "a.txt").write_text("HeLa.")
    with socket.socket() as free:  # bound and not listening: nobody can answer there
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        run = ("tag", eager_model, tmp_path / "a.txt", "-o", tmp_path / "out.jsonl")
        refused(call(*run, "--ray", address), 1, address, "--jobs N")
    assert not (tmp_path / "out.jsonl").exists()
