"""A worker process: claim a job, compute it, store what came out, until nothing is left.

    python -m adaptner.reproduce.run.worker OUTPUT ASK DATA [VECTORS]

It ends when its parent does, so that a runner which was killed leaves no processes behind. Whatever
happens to it, the store stays consistent: a job is done, or somebody else can do it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from adaptner.errors import AdaptnerError
from adaptner.files import atomic_file
from adaptner.reproduce.jobs.execution import JobExecutor
from adaptner.reproduce.jobs.job import DataPaths, Spec
from adaptner.reproduce.run.store import STORE, Claim, Store
from adaptner.reproduce.run.worker_identity import BEAT_SECONDS, WorkerIdentity

RUNNER = "ADAPTNER_RUNNER"  # in the environment: the process that this one must not outlive
_POLL_SECONDS = 0.5


class ClaimLost(BaseException):
    """The job is somebody else's by now. Not an Exception: it is no failure of the job's."""


def work(output: Path, run_id: str, places: DataPaths) -> None:
    """Until all jobs of ``ask`` are done, or failed, or wait for a base that failed."""
    store, me = Store(output / STORE), WorkerIdentity.mine()
    executor = JobExecutor(places, output)
    heartbeat = Heartbeat(output / STORE, me)
    try:
        while True:
            claim = store.claim(run_id, me, executor.base_in_memory)
            if claim is None:
                if store.progress(run_id).over:
                    return
                time.sleep(_POLL_SECONDS)
                continue
            heartbeat.key = claim.key
            compute(claim, executor, store, me, heartbeat)
            heartbeat.key = None
    finally:
        heartbeat.stop()
        store.close()


def compute(
    claim: Claim, executor: JobExecutor, store: Store, me: WorkerIdentity, heartbeat: Heartbeat
) -> None:
    """One job, its failure included: the rest must go on."""
    begun = time.perf_counter()
    try:
        if claim.kind == "base":
            outcome = executor.train_base(claim.key, claim.spec, heartbeat.progress)
            store.finish(claim.key, me, time.perf_counter() - begun, outcome)
        else:
            result = executor.run_draw(claim.key, claim.spec, claim.profile, claim.base_outcome)
            store.finish(claim.key, me, time.perf_counter() - begun, {}, result)
    except ClaimLost:
        return
    except Exception as error:
        log = write_log(executor.output, claim.kind, claim.key, claim.spec, traceback.format_exc())
        store.fail(claim.key, me, summary(error), log)


def summary(error: BaseException) -> str:
    if isinstance(error, AdaptnerError):
        return str(error).splitlines()[0]
    return f"{type(error).__name__}: {error}".splitlines()[0]


def write_log(output: Path, kind: str, key: str, spec: Spec, text: str) -> Path:
    log = output / "logs" / f"{key}.log"
    with atomic_file(log) as file:
        file.write(f"{kind} {key}\n\n{text}\n{json.dumps(spec, indent=1)}\n")
    return log


class Heartbeat:
    """A thread that says the worker is alive, and ends it if its parent is gone."""

    def __init__(self, path: Path, me: WorkerIdentity) -> None:
        self.key: str | None = None
        self._lost = False
        self._path, self._me = path, me
        self._parent = int(os.environ.get(RUNNER, os.getppid()))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def progress(self, done: int, total: int, remark: str = "") -> None:
        """Of a base's training: somebody took the job over, so leave its folder alone."""
        if self._lost:
            self._lost = False
            raise ClaimLost

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        with Store(self._path) as store:
            waited = 0.0
            while not self._ended.wait(1.0):
                if os.getppid() != self._parent:
                    os._exit(1)  # files are whole at any moment; the claim is taken back
                waited += 1.0
                key = self.key
                if key is not None and waited >= BEAT_SECONDS:
                    waited = 0.0
                    self._lost = not store.send_heartbeat(key, self._me) and self.key == key


def main(arguments: list[str]) -> None:
    from adaptner.compute import prepare_process

    # Ctrl-C is the parent's, which ends us. Being ended needs no handler: files and store are whole
    # at any moment, and the parent gives our job back.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare_process()
    output, run_id, data, *vectors = arguments
    places = DataPaths(Path(data), Path(vectors[0]) if vectors else None)
    work(Path(output), run_id, places)


if __name__ == "__main__":
    main(sys.argv[1:])
