"""Jobs on a Ray cluster of two nodes, one of which is killed during the run."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reproduce_kit import OWN, TABLE, TINY, ran, request
from store_kit import PATIENCE

from adaptner.errors import ClusterUnusable
from adaptner.reproduce.jobs.job import DataPaths
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.run.ray_workers import run_on_ray
from adaptner.reproduce.run.request import plan_request
from adaptner.reproduce.run.runner import run_id_of
from adaptner.reproduce.run.store import STORE, Store

ray = pytest.importorskip("ray", reason="Ray is not installed (extra `cluster`)")
pytestmark = [pytest.mark.timeout(4 * PATIENCE), pytest.mark.slow, pytest.mark.processes]
MEMORY = 80 * 1024 * 1024  # a little more than Ray's minimum


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """A cluster of this machine and the second of its nodes. Where Ray itself does not run, the test
    is skipped: that is not what it tests."""
    from ray.cluster_utils import Cluster

    # Short, since sockets lie in it; its own, so that nobody else's cluster is found or hidden.
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp" if Path("/tmp").is_dir() else None)
    for name, value in {
        "RAY_TMPDIR": folder,
        "TMPDIR": folder,  # what a killed actor leaves behind
        "RAY_AUTH_MODE": "disabled",  # it would write to the home folder
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "120",
        "OMP_NUM_THREADS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    made = None
    try:
        try:
            options = {"num_cpus": 1, "object_store_memory": MEMORY}
            made = Cluster(
                initialize_head=True, head_node_args={**options, "include_dashboard": False}
            )
            second = made.add_node(**options)
            made.wait_for_nodes(timeout=PATIENCE)
            ray.init(address=made.address, log_to_driver=False, logging_level="error")
            double = ray.remote(lambda x: 2 * x)
            assert ray.get([double.remote(x) for x in range(4)], timeout=PATIENCE) == [0, 2, 4, 6]
            ray.shutdown()
        except Exception as error:
            pytest.skip(f"Ray does not run here: {error}")
        yield made, second
    finally:
        ray.shutdown()
        if made is not None:
            made.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def reproducible(output: Path) -> list[dict[str, Any]]:
    with Store(output / STORE, make=False) as store:
        rows = [r.as_dict() for r in store.results()]
    varying = ("seconds", "base_seconds", "peak_mb", "finished")
    return [{k: v for k, v in row.items() if k not in varying} for row in rows]


def test_every_job_is_stored_once_although_a_node_was_killed(cluster, tmp_path, monkeypatch):
    made, second = cluster
    stored: list[str] = []
    finish = Store.finish

    def counting(self: Store, key: str, *rest: Any) -> None:
        stored.append(key)
        finish(self, key, *rest)

    monkeypatch.setattr(Store, "finish", counting)
    requested = request(tmp_path / "ray")
    plan = plan_request(TINY, TABLE, requested)
    run_id = run_id_of(plan)
    with Store(requested.output / STORE) as store:
        store.submit(run_id, plan.protocol.table, plan.profile.name, plan.jobs)
    killed: list[int] = []

    def update(store: Store) -> None:
        """Kills the second node when a job is done and both nodes work, or when half of the jobs are
        done."""
        progress = store.progress(run_id)
        both = progress.done >= 1 and progress.running >= 2
        if not killed and (both or progress.done >= progress.total // 2):
            killed.append(progress.done)
            made.remove_node(second, allow_graceful=False)

    run_on_ray(requested.output.absolute(), run_id, DataPaths(OWN), made.address, update)
    with Store(requested.output / STORE) as store:
        progress = store.progress(run_id)
        results: list[StoredResult] = store.results()
    assert killed
    assert killed[0] < len(plan.jobs)
    assert (progress.done, progress.failed, progress.pending) == (len(plan.jobs), 0, 0)
    assert sorted(stored) == sorted(job.key for job in plan.jobs)  # once, and only by the driver
    assert sorted(r.key for r in results) == sorted(job.key for job in plan.draws)
    # Local processes compute the same results, and find those of Ray.
    summary, _ = ran(TINY, requested)
    assert summary.computed == 0
    for job in plan.bases:
        assert (requested.output / "bases" / job.key / "manifest.json").is_file()
    ran(TINY, request(tmp_path / "here", jobs=2))
    assert reproducible(requested.output) == reproducible(tmp_path / "here")


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "nobody is here:1", "127.0.0.1:x"])
def test_an_unreachable_cluster_raises_an_error(tmp_path, address):
    with socket.socket() as free:  # bound but not listening: no answer
        free.bind(("127.0.0.1", 0))
        address = address.format(port=free.getsockname()[1])
        with pytest.raises(ClusterUnusable, match="--jobs N"):
            run_on_ray(tmp_path, "ask", DataPaths(OWN), address, lambda store: None)
