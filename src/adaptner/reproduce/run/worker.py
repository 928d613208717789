"""A worker process: claims jobs, computes them and stores the results, until none is left.

    python -m adaptner.reproduce.run.worker OUTPUT RUN_ID DATA [VECTORS]

It ends when its parent does, so that a killed runner leaves no processes behind. Whatever happens to
it, the store stays consistent: a job is done, or another worker can do it.
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
from adaptner.reproduce.run.job_queue import Claim
from adaptner.reproduce.run.store import STORE, Store
from adaptner.reproduce.run.worker_identity import HEARTBEAT_SECONDS, WorkerIdentity

# Environment variable with the number of the process that a worker must not outlive.
RUNNER = "ADAPTNER_RUNNER"
_POLL_SECONDS = 0.5


class ClaimLost(BaseException):
    """Another worker holds the job now. Not an Exception, because the job has not failed."""


def work(output: Path, run_id: str, places: DataPaths) -> None:
    """Returns when all jobs of the run are done, have failed, or wait for a base that failed."""
    store, worker = Store(output / STORE), WorkerIdentity.new()
    executor = JobExecutor(places, output)
    heartbeat = Heartbeat(output / STORE, worker)
    try:
        while True:
            claim = store.claim(run_id, worker, executor.base_in_memory)
            if claim is None:
                if store.progress(run_id).over:
                    return
                time.sleep(_POLL_SECONDS)
                continue
            heartbeat.key = claim.key
            compute(claim, executor, store, worker, heartbeat)
            heartbeat.key = None
    finally:
        heartbeat.stop()
        store.close()


def compute(
    claim: Claim, executor: JobExecutor, store: Store, worker: WorkerIdentity, heartbeat: Heartbeat
) -> None:
    """Computes and stores one job. A failure is stored too, so that other jobs go on."""
    start = time.perf_counter()
    try:
        if claim.kind == "base":
            outcome = executor.train_base(claim.key, claim.spec, heartbeat.progress)
            store.finish(claim.key, time.perf_counter() - start, outcome)
        else:
            result = executor.run_draw(claim.key, claim.spec, claim.profile, claim.base_outcome)
            store.finish(claim.key, time.perf_counter() - start, {}, result)
    except ClaimLost:
        return
    except Exception as error:
        log = write_log(executor.output, claim.kind, claim.key, claim.spec, traceback.format_exc())
        store.fail(claim.key, worker, first_line(error), log)


def first_line(error: BaseException) -> str:
    if isinstance(error, AdaptnerError):
        return str(error).splitlines()[0]
    return f"{type(error).__name__}: {error}".splitlines()[0]


def write_log(output: Path, kind: str, key: str, spec: Spec, text: str) -> Path:
    log = output / "logs" / f"{key}.log"
    with atomic_file(log) as file:
        file.write(f"{kind} {key}\n\n{text}\n{json.dumps(spec, indent=1)}\n")
    return log


class Heartbeat:
    """A thread that renews the worker's claim, and ends the worker if its parent has ended."""

    def __init__(self, path: Path, worker: WorkerIdentity) -> None:
        self.key: str | None = None
        self._lost = False
        self._path, self._worker = path, worker
        self._parent = int(os.environ.get(RUNNER, os.getppid()))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def progress(self, done: int, total: int, remark: str = "") -> None:
        """Raises ``ClaimLost`` if another worker took over the base that is being trained: two must
        not write to its folder."""
        if self._lost:
            self._lost = False
            raise ClaimLost

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        with Store(self._path) as store:
            waited = 0.0
            while not self._stopped.wait(1.0):
                if os.getppid() != self._parent:
                    os._exit(1)  # files are complete at any moment; the claim will be released
                waited += 1.0
                key = self.key
                if key is not None and waited >= HEARTBEAT_SECONDS:
                    waited = 0.0
                    self._lost = not store.send_heartbeat(key, self._worker) and self.key == key


def main(arguments: list[str]) -> None:
    from adaptner.compute import prepare_process

    # Ctrl-C reaches the parent, which terminates its workers and releases their jobs. SIGTERM needs no
    # handler: files and store are consistent at any moment.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare_process()
    output, run_id, device, data, *vectors = arguments
    places = DataPaths(Path(data), Path(vectors[0]) if vectors else None, device)
    work(Path(output), run_id, places)


if __name__ == "__main__":
    main(sys.argv[1:])
