"""The store of a run: jobs, results and corpora in one SQLite file that several runners may share."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from adaptner.reproduce.jobs.job import Spec
from adaptner.reproduce.jobs.renewal import RenewedJob, renewed_jobs
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.run.job_queue import JobQueue
from adaptner.reproduce.run.results_table import read_results
from adaptner.reproduce.run.worker_identity import WorkerIdentity

STORE = "results.sqlite"  # its name in the output folder


@dataclass(frozen=True)
class Failure:
    key: str
    kind: str
    spec: Spec
    error: str
    log: str


@dataclass(frozen=True)
class Progress:
    """Number of jobs of a run by state; ``blocked`` draws are pending and their base has failed."""

    pending: int
    running: int
    done: int
    failed: int
    blocked: int

    @property
    def total(self) -> int:
        return self.pending + self.running + self.done + self.failed

    @property
    def over(self) -> bool:
        """True if no job is left that could still be done."""
        return self.running == 0 and self.pending == self.blocked


class Store(JobQueue):
    """A connection; each thread needs its own."""

    def changed_corpora(self, checksums: dict[str, str]) -> dict[str, str]:
        """Returns the old checksums of corpora that changed since the last run, and stores the new."""
        with self._transaction() as db:
            known = dict(db.execute("SELECT name, sha256 FROM corpora"))
            db.executemany("INSERT OR REPLACE INTO corpora VALUES (?, ?)", checksums.items())
        return {n: known[n] for n, new in checksums.items() if known.get(n, new) != new}

    def renew_keys(self) -> list[RenewedJob]:
        """Brings keys up to date after settings were renamed or added; returns the jobs that changed.

        Nothing changes while a job is running, because its worker knows it by its old key."""
        with self._transaction() as db:
            if self._is_in_use():
                return []
            stored = [
                (key, kind, json.loads(spec))
                for key, kind, spec in db.execute("SELECT key, kind, spec FROM jobs")
            ]
            keys = {key for key, _, _ in stored}
            renewed = []
            for r in renewed_jobs(stored):
                if r.job.key in keys:  # computed again under its new key: both stay
                    continue
                keys.add(r.job.key)
                renewed.append(r)
                self._change_key(r)
        return renewed

    def _is_in_use(self) -> bool:
        now = time.time()
        running = self._db.execute("SELECT worker, heartbeat FROM jobs WHERE state = 'running'")
        return any(not WorkerIdentity.parse(w).has_ended(now - beat) for w, beat in running)

    def _change_key(self, renewed: RenewedJob) -> None:
        job, old = renewed.job, renewed.old_key
        self._db.execute(
            "UPDATE jobs SET key = ?, base = ?, spec = ? WHERE key = ?",
            (job.key, job.base, json.dumps(job.spec), old),
        )
        self._db.execute("UPDATE wanted SET key = ? WHERE key = ?", (job.key, old))
        self._db.execute(
            "UPDATE results SET key = ?, base_key = ?, settings = ? WHERE key = ?",
            (job.key, job.base, json.dumps(job.spec["settings"]), old),
        )

    def progress(self, run_id: str) -> Progress:
        counts = dict.fromkeys(("pending", "running", "done", "failed"), 0)
        blocked = 0
        for state, base, number in self._db.execute(
            "SELECT jobs.state, base.state, count(*) FROM wanted JOIN jobs ON jobs.key = wanted.key "
            "LEFT JOIN jobs AS base ON base.key = jobs.base WHERE ask = ? GROUP BY 1, 2",
            (run_id,),
        ):
            counts[state] += number
            blocked += number if (state, base) == ("pending", "failed") else 0
        return Progress(**counts, blocked=blocked)

    def states(self, run_id: str) -> dict[str, tuple[str, float | None]]:
        """State and seconds of every job of a run, by key."""
        return {
            key: (state, seconds)
            for key, state, seconds in self._db.execute(
                "SELECT jobs.key, state, seconds FROM wanted JOIN jobs ON jobs.key = wanted.key "
                "WHERE ask = ?",
                (run_id,),
            )
        }

    def done_keys(self) -> set[str]:
        return {key for (key,) in self._db.execute("SELECT key FROM jobs WHERE state = 'done'")}

    def failures(self, run_id: str | None = None) -> list[Failure]:
        where = "" if run_id is None else "AND key IN (SELECT key FROM wanted WHERE ask = ?)"
        rows = self._db.execute(
            f"SELECT key, kind, spec, error, log FROM jobs WHERE state = 'failed' {where} ORDER BY key",
            () if run_id is None else (run_id,),
        )
        return [Failure(k, kind, json.loads(s), e or "", log or "") for k, kind, s, e, log in rows]

    def results(self, run_id: str | None = None, table: str | None = None) -> list[StoredResult]:
        """All results, or those of one run, or those of every run for a table, ordered by key."""
        where = ""
        values: Sequence[str] = ()
        if run_id is not None:
            where, values = "WHERE key IN (SELECT key FROM wanted WHERE ask = ?)", (run_id,)
        elif table is not None:
            where = (
                "WHERE key IN (SELECT wanted.key FROM wanted JOIN asks ON asks.ask = wanted.ask "
                'WHERE asks."table" = ?)'
            )
            values = (table,)
        return read_results(self._db, where, values)
