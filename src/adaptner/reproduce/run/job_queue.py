"""The queue of jobs in a store, which several workers may share.

A claim is one transaction, so that no job is held by two workers. A result is stored in the transaction
that ends its job, and each key is stored once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptner.reproduce.jobs.job import Job, Spec
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.run.results_table import insert_result
from adaptner.reproduce.run.store_file import StoreFile
from adaptner.reproduce.run.worker_identity import WorkerIdentity

ATTEMPTS = 3  # a job that lost its worker this often has failed

# Draws before bases, and first the draws of the base that the worker has in memory.
_NEXT = """
SELECT jobs.key FROM wanted JOIN jobs ON jobs.key = wanted.key
LEFT JOIN jobs AS base ON base.key = jobs.base
WHERE wanted.ask = ? AND jobs.state = 'pending' AND (jobs.base IS NULL OR base.state = 'done')
ORDER BY jobs.kind = 'base', jobs.base IS NOT ?, wanted.place LIMIT 1
"""


_GIVE_BACK = (
    "UPDATE jobs SET state = 'pending', worker = NULL, attempts = attempts - 1 WHERE key = ?"
)


@dataclass(frozen=True)
class Claim:
    """A job that a worker holds; ``base_outcome`` is what training its base returned."""

    key: str
    kind: str
    spec: Spec
    profile: str
    base: str | None
    base_outcome: dict[str, Any]


class JobQueue(StoreFile):
    """A connection; each thread needs its own."""

    def submit(self, run_id: str, table: str, profile: str, jobs: Sequence[Job]) -> None:
        """Adds the jobs that are new. Jobs that failed or lost their worker become pending again."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO asks VALUES (?, ?, ?)", (run_id, table, profile))
            db.executemany(
                "INSERT OR IGNORE INTO jobs (key, kind, base, spec, profile) VALUES (?, ?, ?, ?, ?)",
                [(j.key, j.kind, j.base, json.dumps(j.spec), profile) for j in jobs],
            )
            db.executemany(
                "INSERT OR IGNORE INTO wanted VALUES (?, ?, ?)",
                [(run_id, place, job.key) for place, job in enumerate(jobs)],
            )
            self._release_lost_jobs(run_id)
            db.execute(
                "UPDATE jobs SET state = 'pending', attempts = 0, error = NULL, log = NULL "
                "WHERE state = 'failed' AND key IN (SELECT key FROM wanted WHERE ask = ?)",
                (run_id,),
            )

    def reopen(self, key: str) -> None:
        """Makes a finished base pending again, after its folder was removed."""
        with self._transaction() as db:
            db.execute(
                "UPDATE jobs SET state = 'pending', attempts = 0 WHERE key = ? AND state = 'done'",
                (key,),
            )

    def claim(
        self, run_id: str, worker: WorkerIdentity, base_in_memory: str | None = None
    ) -> Claim | None:
        """The next job of a run; None if no job can start now. (A later call may find one.)"""
        with self._transaction() as db:
            found = db.execute(_NEXT, (run_id, base_in_memory)).fetchone()
            if found is None and self._release_lost_jobs(run_id):
                found = db.execute(_NEXT, (run_id, base_in_memory)).fetchone()
            if found is None:
                return None
            db.execute(
                "UPDATE jobs SET state = 'running', worker = ?, heartbeat = ?, attempts = attempts + 1 "
                "WHERE key = ?",
                (str(worker), time.time(), found[0]),
            )
            row = db.execute(
                "SELECT jobs.key, jobs.kind, jobs.spec, jobs.profile, jobs.base, base.outcome "
                "FROM jobs LEFT JOIN jobs AS base ON base.key = jobs.base WHERE jobs.key = ?",
                found,
            ).fetchone()
        key, kind, spec, profile, base, outcome = row
        return Claim(key, kind, json.loads(spec), profile, base, json.loads(outcome or "{}"))

    def send_heartbeat(self, key: str, worker: WorkerIdentity) -> bool:
        """False if the worker no longer holds the job."""
        with self._transaction() as db:
            changed = db.execute(
                "UPDATE jobs SET heartbeat = ? WHERE key = ? AND worker = ? AND state = 'running'",
                (time.time(), key, str(worker)),
            )
        return changed.rowcount > 0

    def finish(
        self,
        key: str,
        seconds: float,
        outcome: dict[str, Any],
        result: StoredResult | None = None,
    ) -> None:
        """Marks a job as done and stores its result, both or neither. A result that is already stored
        stays, because equal keys are equal computations."""
        with self._transaction() as db:
            if result is not None:
                insert_result(db, result)
            db.execute(
                "UPDATE jobs SET state = 'done', seconds = ?, outcome = ?, error = NULL, log = NULL "
                "WHERE key = ? AND state != 'done'",
                (seconds, json.dumps(outcome), key),
            )

    def fail(self, key: str, worker: WorkerIdentity, error: str, log: Path) -> None:
        with self._transaction() as db:
            db.execute(
                "UPDATE jobs SET state = 'failed', error = ?, log = ? WHERE key = ? AND worker = ?",
                (error, str(log), key, str(worker)),
            )

    def release(self, pids: Container[int]) -> None:
        """Makes the jobs of stopped worker processes of this machine pending again; the attempt does
        not count."""
        with self._transaction() as db:
            for key, text in db.execute(
                "SELECT key, worker FROM jobs WHERE state = 'running'"
            ).fetchall():
                worker = WorkerIdentity.parse(text)
                if worker.pid in pids and worker.has_ended(0.0):
                    db.execute(_GIVE_BACK, (key,))

    def give_back(self, key: str, worker: WorkerIdentity) -> None:
        """Makes a claimed job pending again; the attempt does not count."""
        with self._transaction() as db:
            db.execute(f"{_GIVE_BACK} AND worker = ? AND state = 'running'", (key, str(worker)))

    def retry(self, key: str, worker: WorkerIdentity, reason: str) -> None:
        """Makes a job pending again after its machine was lost; it fails after ``ATTEMPTS``."""
        with self._transaction() as db:
            db.execute(
                "UPDATE jobs SET state = CASE WHEN attempts < ? THEN 'pending' ELSE 'failed' END, "
                "worker = NULL, error = ? WHERE key = ? AND worker = ? AND state = 'running'",
                (ATTEMPTS, reason, key, str(worker)),
            )

    def _release_lost_jobs(self, run_id: str) -> bool:
        """Jobs whose worker has ended become pending, or failed after ``ATTEMPTS``. True if there were
        any. The caller holds the transaction."""
        now, released = time.time(), False
        running = self._db.execute(
            "SELECT jobs.key, worker, heartbeat, attempts FROM wanted JOIN jobs ON jobs.key = wanted.key "
            "WHERE ask = ? AND state = 'running'",
            (run_id,),
        ).fetchall()
        for key, worker, heartbeat, attempts in running:
            if not WorkerIdentity.parse(worker).has_ended(now - heartbeat):
                continue
            released = True
            state, error = "pending", None
            if attempts >= ATTEMPTS:
                state, error = "failed", f"its worker died {attempts} times (out of memory?)"
            self._db.execute(
                "UPDATE jobs SET state = ?, worker = NULL, error = ? WHERE key = ?",
                (state, error, key),
            )
        return released
