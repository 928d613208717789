"""Jobs and results in one SQLite file that several runners may share.

A claim is one transaction, so a job is never held by two workers; a result is stored in the same
transaction that ends its job, and a key is stored once.
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
from adaptner.reproduce.run.results_table import insert_result, read_results
from adaptner.reproduce.run.store_file import StoreFile
from adaptner.reproduce.run.worker_identity import WorkerIdentity

STORE = "results.sqlite"  # its name in the output folder
ATTEMPTS = 3  # a job whose worker died so often is not tried again in this run

# Draws first, those of the base the worker has in memory before others; then bases.
_NEXT = """
SELECT jobs.key FROM wanted JOIN jobs ON jobs.key = wanted.key
LEFT JOIN jobs AS base ON base.key = jobs.base
WHERE wanted.ask = ? AND jobs.state = 'pending' AND (jobs.base IS NULL OR base.state = 'done')
ORDER BY jobs.kind = 'base', jobs.base IS NOT ?, wanted.place LIMIT 1
"""


@dataclass(frozen=True)
class Claim:
    """A job that a worker holds, and what its base was to make."""

    key: str
    kind: str
    spec: Spec
    profile: str
    base: str | None
    base_outcome: dict[str, Any]


@dataclass(frozen=True)
class Failure:
    key: str
    kind: str
    spec: Spec
    error: str
    log: str


@dataclass(frozen=True)
class Progress:
    """Of one ask: jobs by state; ``blocked`` are draws whose base failed."""

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
        """Nothing is left that could still be done."""
        return self.running == 0 and self.pending == self.blocked


class Store(StoreFile):
    """A connection; each thread needs its own."""

    # --- asking for jobs ---------------------------------------------------------------------------

    def submit(self, run_id: str, table: str, profile: str, jobs: Sequence[Job]) -> None:
        """Jobs that are there already stay as they are, but failed ones get another chance."""
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
            self._take_back(run_id)
            db.execute(
                "UPDATE jobs SET state = 'pending', attempts = 0, error = NULL, log = NULL "
                "WHERE state = 'failed' AND key IN (SELECT key FROM wanted WHERE ask = ?)",
                (run_id,),
            )

    def reopen(self, key: str) -> None:
        """A base that is done but no longer there has to be learnt again."""
        with self._transaction() as db:
            db.execute(
                "UPDATE jobs SET state = 'pending', attempts = 0 WHERE key = ? AND state = 'done'",
                (key,),
            )

    def changed_corpora(self, checksums: dict[str, str]) -> dict[str, str]:
        """Corpora whose files differ from those of the last run, with the old checksum."""
        with self._transaction() as db:
            known = dict(db.execute("SELECT name, sha256 FROM corpora"))
            db.executemany("INSERT OR REPLACE INTO corpora VALUES (?, ?)", checksums.items())
        return {n: known[n] for n, new in checksums.items() if known.get(n, new) != new}

    # --- doing them --------------------------------------------------------------------------------

    def claim(
        self, run_id: str, worker: WorkerIdentity, at_hand: str | None = None
    ) -> Claim | None:
        """The next job of ``ask``; ``at_hand`` is the base the worker has in memory. None: nothing
        can be begun now (which does not mean that nothing will be)."""
        with self._transaction() as db:
            found = db.execute(_NEXT, (run_id, at_hand)).fetchone()
            if found is None and self._take_back(run_id):
                found = db.execute(_NEXT, (run_id, at_hand)).fetchone()
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
        """A sign of life; False if the job is no longer the worker's."""
        with self._transaction() as db:
            return bool(
                db.execute(
                    "UPDATE jobs SET heartbeat = ? WHERE key = ? AND worker = ? AND state = 'running'",
                    (time.time(), key, str(worker)),
                ).rowcount
            )

    def finish(
        self,
        key: str,
        worker: WorkerIdentity,
        seconds: float,
        outcome: dict[str, Any],
        result: StoredResult | None = None,
    ) -> None:
        """Job done and result stored, both or neither. A result that is there already stays: equal
        keys are equal computations."""
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
        """Jobs of processes of this machine that were ended on purpose: given back, not counted."""
        with self._transaction() as db:
            for key, worker in db.execute(
                "SELECT key, worker FROM jobs WHERE state = 'running'"
            ).fetchall():
                holder = WorkerIdentity.parse(worker)
                if holder.pid in pids and holder.gone(0.0):
                    db.execute(
                        "UPDATE jobs SET state = 'pending', worker = NULL, attempts = attempts - 1 "
                        "WHERE key = ?",
                        (key,),
                    )

    def give_back(self, key: str, worker: WorkerIdentity) -> None:
        """Undone, by one who stops on purpose."""
        with self._transaction() as db:
            db.execute(
                "UPDATE jobs SET state = 'pending', worker = NULL, attempts = attempts - 1 "
                "WHERE key = ? AND worker = ? AND state = 'running'",
                (key, str(worker)),
            )

    def retry(self, key: str, worker: WorkerIdentity, why: str) -> None:
        """The job's machine was lost: to be done again, unless that was so too often."""
        with self._transaction() as db:
            db.execute(
                "UPDATE jobs SET state = CASE WHEN attempts < ? THEN 'pending' ELSE 'failed' END, "
                "worker = NULL, error = ? WHERE key = ? AND worker = ? AND state = 'running'",
                (ATTEMPTS, why, key, str(worker)),
            )

    def _take_back(self, run_id: str) -> bool:
        """Jobs whose worker is gone become pending, or failed if it was too often. (Inside a
        transaction.)"""
        now, taken = time.time(), False
        held = self._db.execute(
            "SELECT jobs.key, worker, heartbeat, attempts FROM wanted JOIN jobs ON jobs.key = wanted.key "
            "WHERE ask = ? AND state = 'running'",
            (run_id,),
        ).fetchall()
        for key, worker, heartbeat, attempts in held:
            if not WorkerIdentity.parse(worker).gone(now - heartbeat):
                continue
            taken = True
            state, error = "pending", None
            if attempts >= ATTEMPTS:
                state, error = "failed", f"its worker died {attempts} times (out of memory?)"
            self._db.execute(
                "UPDATE jobs SET state = ?, worker = NULL, error = ? WHERE key = ?",
                (state, error, key),
            )
        return taken

    # --- looking -----------------------------------------------------------------------------------

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
        """Key -> state and seconds of every job of ``ask``."""
        return {
            key: (state, seconds)
            for key, state, seconds in self._db.execute(
                "SELECT jobs.key, state, seconds FROM wanted JOIN jobs ON jobs.key = wanted.key "
                "WHERE ask = ?",
                (run_id,),
            )
        }

    def holders(self) -> list[WorkerIdentity]:
        """Who holds a job now, or held one when it was ended."""
        rows = self._db.execute("SELECT worker FROM jobs WHERE state = 'running'")
        return [WorkerIdentity.parse(worker) for (worker,) in rows]

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
        """All, those of an ask, or those of every ask for a table; in the order of the keys."""
        where = ""
        facts: tuple[str, ...] = ()
        if run_id is not None:
            where, facts = "WHERE key IN (SELECT key FROM wanted WHERE ask = ?)", (run_id,)
        elif table is not None:
            where = (
                "WHERE key IN (SELECT wanted.key FROM wanted JOIN asks ON asks.ask = wanted.ask "
                'WHERE asks."table" = ?)'
            )
            facts = (table,)
        return read_results(self._db, where, facts)
