"""The store with several workers: every job is done once, and killed workers lose nothing."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from store_kit import ASK, PATIENCE, finish, jobs, result, until

from adaptner.errors import StoreUnreadable
from adaptner.reproduce.run.job_queue import ATTEMPTS, Claim
from adaptner.reproduce.run.store import Store
from adaptner.reproduce.run.worker_identity import HEARTBEAT_TIMEOUT_SECONDS, WorkerIdentity


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results.sqlite")


# A worker that claims jobs as fast as it can and logs their keys.
WORKER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from store_kit import ASK, finish
from adaptner.reproduce.run.store import Store
from adaptner.reproduce.run.worker_identity import WorkerIdentity
store, me = Store(Path(sys.argv[1])), WorkerIdentity.new()
with open(sys.argv[2], "a", buffering=1) as log:
    while not store.progress(ASK).over:
        claim = store.claim(ASK, me)
        if claim is None:
            time.sleep(0.01)
            continue
        log.write(claim.key + "\\n")
        finish(store, claim)
"""


def start_worker(path: Path, log: Path) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).parents[2] / "support")
    command = [sys.executable, "-c", WORKER, str(path), str(log), here]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.processes
def test_several_processes_do_every_job_exactly_once(tmp_path, store):
    wanted = jobs(5, 60)
    store.submit(ASK, "hgda/3", "quick", wanted)
    logs = [tmp_path / f"{n}.log" for n in range(3)]
    workers = [start_worker(store.path, log) for log in logs]
    assert [w.wait(PATIENCE) for w in workers] == [0, 0, 0]
    taken = Counter(key for log in logs for key in log.read_text().split())
    assert taken == Counter(job.key for job in wanted)
    assert {r.key for r in store.results()} == {j.key for j in wanted if j.kind == "draw"}
    progress = store.progress(ASK)
    assert (progress.done, progress.total, progress.over) == (305, 305, True)


@pytest.mark.slow
@pytest.mark.processes
def test_several_processes_may_create_a_store_at_once(tmp_path):
    path = tmp_path / "deep" / "results.sqlite"
    code = "import sys; from pathlib import Path; from adaptner.reproduce.run.store import Store; Store(Path(sys.argv[1]))"
    makers = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]
    assert [m.wait(PATIENCE) for m in makers] == [0, 0, 0, 0]
    assert Store(path, make=False).progress(ASK).total == 0


def test_random_events_agree_with_a_simple_model(tmp_path):
    """The model knows which worker holds which job."""
    for seed in range(15):
        rng = random.Random(seed)
        store = Store(tmp_path / f"{seed}.sqlite")
        wanted = {job.key: job for job in jobs(3, 4)}
        store.submit(ASK, "hgda/3", "quick", list(wanted.values()))
        workers = [WorkerIdentity.new() for _ in range(3)]
        held: dict[str, WorkerIdentity] = {}
        done: set[str] = set()
        failed: set[str] = set()
        for _ in range(120):
            event = rng.choice(("claim", "claim", "finish", "fail", "back", "submit"))
            if event == "claim":
                me = rng.choice(workers)
                claim = store.claim(ASK, me)
                startable = {
                    k
                    for k, j in wanted.items()
                    if k not in held | dict.fromkeys(done | failed)
                    and (j.base is None or j.base in done)
                }
                assert (claim is None) == (not startable)
                if claim is not None:
                    assert claim.key in startable
                    assert claim.base_outcome == ({} if claim.base is None else {"seconds": 2.0})
                    held[claim.key] = me
            elif held and event in ("finish", "fail", "back"):
                key = rng.choice(sorted(held))
                me = held.pop(key)
                if event == "finish":
                    finish(store, Claim(key, wanted[key].kind, {}, "", None, {}))
                    done.add(key)
                elif event == "fail":
                    store.fail(key, me, "no luck", tmp_path / "log")
                    failed.add(key)
                else:
                    store.give_back(key, me)
            elif event == "submit":
                store.submit(ASK, "hgda/3", "quick", list(wanted.values()))
                failed.clear()
            progress = store.progress(ASK)
            assert (progress.running, progress.done, progress.failed) == (
                len(held),
                len(done),
                len(failed),
            )
            assert {f.key for f in store.failures(ASK)} == failed
            assert {r.key for r in store.results()} == {k for k in done if wanted[k].base}
        store.close()


def claim_and_die(store: Store) -> str:
    """A process claims a job and is killed. Returns the key of the job."""
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from adaptner.reproduce.run.store import Store\n"
        "from adaptner.reproduce.run.worker_identity import WorkerIdentity\n"
        "claim = Store(Path(sys.argv[1])).claim('ask', WorkerIdentity.new())\n"
        "print(claim.key, flush=True)\ntime.sleep(10_000)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(store.path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    key = child.stdout.readline().decode().strip()
    os.kill(child.pid, signal.SIGKILL)
    child.wait(PATIENCE)
    child.stdout.close()
    return key


@pytest.mark.slow
@pytest.mark.processes
def test_a_job_fails_after_losing_its_worker_three_times(store):
    (base,) = jobs(1, 0)
    store.submit(ASK, "hgda/3", "quick", [base])
    me = WorkerIdentity.new()
    for _ in range(ATTEMPTS):
        assert claim_and_die(store) == base.key
    assert store.claim(ASK, me) is None
    (failure,) = store.failures(ASK)
    assert "died" in failure.error
    store.submit(ASK, "hgda/3", "quick", [base])  # a new run tries it again
    claim = store.claim(ASK, me)
    assert claim is not None
    assert claim.key == base.key


def test_workers_on_other_machines_lose_jobs_without_a_heartbeat(store):
    store.submit(ASK, "hgda/3", "quick", jobs(1, 0))
    me = WorkerIdentity.new()
    far = replace(me, machine="another")
    claim = store.claim(ASK, far)
    assert claim is not None
    assert store.claim(ASK, me) is None
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE jobs SET heartbeat = ?", (time.time() - HEARTBEAT_TIMEOUT_SECONDS - 5,))
    assert store.send_heartbeat(claim.key, far)  # late, but in time
    assert store.claim(ASK, me) is None
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE jobs SET heartbeat = ?", (time.time() - HEARTBEAT_TIMEOUT_SECONDS - 5,))
    again = store.claim(ASK, me)
    assert again is not None
    assert again.key == claim.key
    assert not store.send_heartbeat(claim.key, far)  # too late


def test_a_running_worker_of_this_machine_keeps_its_job_without_heartbeats(store):
    store.submit(ASK, "hgda/3", "quick", jobs(1, 0))
    me = WorkerIdentity.new()
    assert store.claim(ASK, me) is not None
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE jobs SET heartbeat = 0")
    assert store.claim(ASK, WorkerIdentity.new()) is None


@pytest.mark.processes
def test_a_reused_process_number_is_not_the_old_process():
    me = WorkerIdentity.new()
    assert not me.has_ended(0.0)
    assert WorkerIdentity.parse(str(me)) == me
    if me.started:  # where there is /proc
        assert replace(me, started="1").has_ended(0.0)
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(PATIENCE)
    until(lambda: replace(me, pid=child.pid).has_ended(0.0), "the end of a process")


def test_draws_of_the_base_in_memory_come_first_and_bases_last(store):
    wanted = jobs(3, 2)
    bases = [job.key for job in wanted if job.kind == "base"]
    store.submit(ASK, "hgda/3", "quick", wanted)
    me = WorkerIdentity.new()
    for claim in [store.claim(ASK, me), store.claim(ASK, me)]:
        assert claim is not None
        finish(store, claim)
    order = []
    while (claim := store.claim(ASK, me, base_in_memory=bases[1])) is not None:
        order.append(claim.base or claim.key)
    assert order == [bases[1], bases[1], bases[0], bases[0], bases[2]]


def test_a_result_is_stored_once_and_read_unchanged(store):
    base, draw = jobs(1, 1)
    store.submit(ASK, "hgda/3", "quick", [base, draw])
    first = result(draw.key, share=12.5, limited=True)
    store.finish(draw.key, 1.0, {}, first)
    store.finish(draw.key, 1.0, {}, replace(first, f1=0.9))  # a slower worker
    assert store.results() == [first]
    assert store.results(run_id=ASK) == store.results(table="hgda/3") == [first]
    assert store.results(table="hgda/4") == []


def test_a_job_is_not_done_if_its_result_cannot_be_stored(store):
    store.submit(ASK, "hgda/3", "quick", jobs(1, 1))
    me = WorkerIdentity.new()
    base = store.claim(ASK, me)
    assert base is not None
    finish(store, base)
    claim = store.claim(ASK, me)
    assert claim is not None
    with pytest.raises(TypeError):
        store.finish(claim.key, 1.0, {}, result(claim.key, settings={"x": object()}))
    assert store.results() == []
    assert store.progress(ASK).running == 1


def test_runs_share_jobs(store):
    wanted = jobs(2, 2)
    store.submit("one", "hgda/3", "quick", wanted[:3])
    store.submit("two", "hgda/4", "quick", wanted)
    me = WorkerIdentity.new()
    while (claim := store.claim("one", me)) is not None:
        finish(store, claim)
    assert store.progress("one").over
    assert (store.progress("two").done, store.progress("two").pending) == (3, 3)


@pytest.mark.processes
def test_released_jobs_do_not_count_as_attempts(store):
    (base,) = jobs(1, 0)
    store.submit(ASK, "hgda/3", "quick", [base])
    me = WorkerIdentity.new()
    for _ in range(2 * ATTEMPTS):
        child = subprocess.Popen([sys.executable, "-c", ""])
        child.wait(PATIENCE)
        assert store.claim(ASK, replace(me, pid=child.pid, started="0")) is not None
        store.release([child.pid])
    assert store.progress(ASK).pending == 1


def test_changed_corpora_are_reported_once(store):
    assert store.changed_corpora({"a": "1", "b": "1"}) == {}
    assert store.changed_corpora({"a": "1"}) == {}
    assert store.changed_corpora({"a": "2", "b": "1"}) == {"a": "1"}
    assert store.changed_corpora({"a": "2", "c": "5"}) == {}


def test_another_programs_database_stays_unchanged(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE jobs (mine TEXT)")
    db.close()
    before = path.read_bytes()
    for make in (True, False):
        with pytest.raises(StoreUnreadable, match="another program's"):
            Store(path, make=make)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"this is not a database, is it? " * 40, b"SQLite format 3\0"])
def test_a_file_that_is_no_store_raises_an_error_with_its_name(tmp_path, content):
    path = tmp_path / "results.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreUnreadable, match=r"results\.sqlite"):
        Store(path)
    assert path.read_bytes() == content


def test_a_newer_format_raises_an_error(store):
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreUnreadable, match="newer version"):
        Store(store.path)


def test_opening_a_missing_store_for_reading_creates_none(tmp_path):
    with pytest.raises(StoreUnreadable, match="no such file"):
        Store(tmp_path / "nowhere.sqlite", make=False)
    assert list(tmp_path.iterdir()) == []


def test_reading_a_store_leaves_the_file_unchanged(store):
    store._db.execute("PRAGMA journal_mode = DELETE")
    store.close()
    before = store.path.read_bytes()
    with Store(store.path, make=False) as read_only:
        assert read_only.results() == []
    assert store.path.read_bytes() == before
    assert [p.name for p in store.path.parent.iterdir()] == [store.path.name]


def test_a_store_without_a_newer_column_is_read_and_written(store):
    kept = {"PER": {"correct": 1, "predicted": 2, "gold": 3, "tokens": 4}}
    store.submit(ASK, "hgda/3", "quick", jobs(1, 2))
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("ALTER TABLE results DROP COLUMN by_type")
    db.close()
    with Store(store.path, make=False) as read_only:
        assert read_only.results() == []
    with sqlite3.connect(store.path) as db:  # as an earlier version wrote it
        facts = {n: v for n, v in result("old").as_dict().items() if n != "by_type"}
        row = [str(v).replace("'", '"') if isinstance(v, dict) else v for v in facts.values()]
        db.execute(f"INSERT INTO results VALUES ({', '.join('?' * len(row))})", row)
    db.close()
    with Store(store.path, make=False) as read_only:
        assert read_only.results() == [result("old")]
    with Store(store.path) as again:
        again.finish("new", 1.0, {}, result("new", by_type=kept))
        assert {r.key: r.by_type for r in again.results()} == {"old": {}, "new": kept}
