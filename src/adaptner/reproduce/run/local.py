"""Jobs on this machine: N processes of one thread, each a worker on the same store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from adaptner.errors import WorkersDied
from adaptner.reproduce.jobs.job import DataPaths
from adaptner.reproduce.run.store import ATTEMPTS, STORE, Progress, Store
from adaptner.reproduce.run.worker import RUNNER

_POLL_SECONDS = 0.2
_DEATHS = 2 * ATTEMPTS
_PATIENCE_SECONDS = 20.0  # for a worker that was told to stop


def run_local(
    output: Path, run_id: str, places: DataPaths, number: int, look: Callable[[Store], None]
) -> None:
    """Until nothing is left to do. ``look`` is called a few times a second. However this ends, so
    do the workers."""
    crew = WorkerPool(output, run_id, places)
    try:
        with Store(output / STORE) as store:
            while not (progress := store.progress(run_id)).over:
                crew.keep(min(number, progress.total - progress.done), progress)
                look(store)
                time.sleep(_POLL_SECONDS)
            look(store)
    finally:
        ended = crew.dismiss()
        with Store(output / STORE) as store:
            store.release(ended)


class WorkerPool:
    """The worker processes. One that dies is replaced: the store counts how often a job took its
    worker along and gives up on it."""

    def __init__(self, output: Path, run_id: str, places: DataPaths) -> None:
        self._log = output / "logs" / "workers.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        given = [str(output), run_id, str(places.data)]
        if places.vectors is not None:
            given.append(str(places.vectors))
        self._command = [sys.executable, "-m", "adaptner.reproduce.run.worker", *given]
        self._members: list[subprocess.Popen[bytes]] = []
        self._deaths, self._ended = 0, 0

    def keep(self, number: int, progress: Progress) -> None:
        ended = progress.done + progress.failed
        if ended != self._ended:
            self._deaths, self._ended = 0, ended
        for member in [m for m in self._members if m.poll() is not None]:
            self._members.remove(member)
            self._deaths += member.returncode != 0
            if self._deaths > _DEATHS * number:  # no job was ended meanwhile: it is not the jobs
                raise WorkersDied(file=self._log, code=member.returncode)
        while len(self._members) < number:
            self._members.append(self._begin())

    @property
    def pids(self) -> list[int]:
        return [member.pid for member in self._members]

    def alive(self) -> bool:
        return any(member.poll() is None for member in self._members)

    def dismiss(self) -> list[int]:
        """End them all; their process numbers."""
        for member in self._members:
            member.terminate()
        end = time.monotonic() + _PATIENCE_SECONDS
        for member in self._members:
            try:
                member.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                member.kill()
                member.wait()
        return self.pids

    def _begin(self) -> subprocess.Popen[bytes]:
        told = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", RUNNER: str(os.getpid())}
        with open(self._log, "ab") as log:
            return subprocess.Popen(
                self._command,
                env={**os.environ, **told},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us; we tell them
            )
