"""Runs jobs on this machine: worker processes of one thread each, all on the same store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from adaptner.errors import WorkersDied
from adaptner.reproduce.jobs.job import DataPaths
from adaptner.reproduce.run.job_queue import ATTEMPTS
from adaptner.reproduce.run.store import STORE, Progress, Store
from adaptner.reproduce.run.worker import RUNNER

_POLL_SECONDS = 0.2
_MAX_DEATHS = 2 * ATTEMPTS  # per worker, without a job that ended meanwhile
_TERMINATION_SECONDS = 20.0


def run_local(
    output: Path, run_id: str, places: DataPaths, number: int, update: Callable[[Store], None]
) -> None:
    """Returns when no job is left, and calls ``update`` a few times a second until then. The workers
    have ended when this function returns or raises."""
    pool = WorkerPool(output, run_id, places)
    try:
        with Store(output / STORE) as store:
            while not (progress := store.progress(run_id)).over:
                pool.refill(min(number, progress.total - progress.done), progress)
                update(store)
                time.sleep(_POLL_SECONDS)
            update(store)
    finally:
        stopped = pool.stop()
        with Store(output / STORE) as store:
            store.release(stopped)


class WorkerPool:
    """The worker processes. A worker that dies is replaced; the store counts how many workers died
    with the same job."""

    def __init__(self, output: Path, run_id: str, places: DataPaths) -> None:
        self._log = output / "logs" / "workers.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        arguments = [str(output), run_id, places.device, str(places.data)]
        if places.vectors is not None:
            arguments.append(str(places.vectors))
        self._command = [sys.executable, "-m", "adaptner.reproduce.run.worker", *arguments]
        self._processes: list[subprocess.Popen[bytes]] = []
        self._deaths, self._jobs_ended = 0, 0

    def refill(self, number: int, progress: Progress) -> None:
        """Raises ``WorkersDied`` if workers keep dying although no job ends: something other than the
        jobs is broken."""
        jobs_ended = progress.done + progress.failed
        if jobs_ended != self._jobs_ended:
            self._deaths, self._jobs_ended = 0, jobs_ended
        for process in [p for p in self._processes if p.poll() is not None]:
            self._processes.remove(process)
            self._deaths += process.returncode != 0
            if self._deaths > _MAX_DEATHS * number:
                raise WorkersDied(file=self._log, code=process.returncode)
        while len(self._processes) < number:
            self._processes.append(self._start())

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def alive(self) -> bool:
        return any(process.poll() is None for process in self._processes)

    def stop(self) -> list[int]:
        """Ends all workers and returns their process numbers."""
        for process in self._processes:
            process.terminate()
        end = time.monotonic() + _TERMINATION_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return self.pids

    def _start(self) -> subprocess.Popen[bytes]:
        variables = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", RUNNER: str(os.getpid())}
        with open(self._log, "ab") as log:
            return subprocess.Popen(
                self._command,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches only this process, which stops the workers
            )
