"""Runs jobs on a Ray cluster (extra ``cluster``): actors compute, only the driver writes the store.

The driver claims a job, an actor on any node computes it, and the driver stores the answer. If the node
is lost first, the driver gives the claim back and another actor computes the job. Only stored answers
count, so that nothing is lost or counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adaptner.cluster import connected
from adaptner.errors import ClusterUnusable
from adaptner.reproduce.jobs.base_files import read_base, write_base
from adaptner.reproduce.jobs.code_fingerprint import code_fingerprint
from adaptner.reproduce.jobs.execution import JobExecutor
from adaptner.reproduce.jobs.job import DataPaths
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.run.job_queue import Claim
from adaptner.reproduce.run.ray_node import Answer, Node
from adaptner.reproduce.run.store import STORE, Store
from adaptner.reproduce.run.worker import write_log
from adaptner.reproduce.run.worker_identity import HEARTBEAT_SECONDS, WorkerIdentity

_POLL_SECONDS = 0.5
_NO_NODE_SECONDS = 300.0  # how long to wait for the first node of a cluster
_MAX_FAILED_STARTS = 5  # consecutive actors that die before they answer


def run_on_ray(
    output: Path, run_id: str, places: DataPaths, address: str, update: Callable[[Store], None]
) -> None:
    """Returns when no job is left. ``address`` is HOST:PORT, ``auto`` (this machine's cluster) or
    ``local`` (a new cluster on this machine, for this run)."""
    ray = connected(address)
    try:
        with Store(output / STORE) as store:
            driver = RayDriver(ray, store, run_id, output, places, address)
            try:
                while not store.progress(run_id).over:
                    driver.step()
                    update(store)
                update(store)
            finally:
                driver.stop()
    finally:
        ray.shutdown()


@dataclass
class Actor:
    """``answer`` is the answer that the driver waits for; the first one is the fingerprint of the
    actor's code. ``base`` is the key of the base that the actor has."""

    handle: Any
    answer: Any
    claim: Claim | None = None
    ready: bool = False
    base: str | None = None
    start: float = field(default_factory=time.perf_counter)


class RayDriver:
    def __init__(
        self, ray: Any, store: Store, run_id: str, output: Path, places: DataPaths, address: str
    ) -> None:
        self._ray, self._store, self._run_id = ray, store, run_id
        self._address = address
        self._places = places
        self._worker = WorkerIdentity.new()
        self._executor = JobExecutor(places, output)
        self._actors: list[Actor] = []
        self._failed_starts = 0
        self._had_node = time.monotonic()
        self._sent_base: tuple[str, Any] | None = None  # key, reference in Ray's object store
        self._last_heartbeat = time.monotonic()
        self._actor_class = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Node)

    def step(self) -> None:
        """Starts actors, gives them jobs, waits briefly for answers and stores them."""
        self._start_actors()
        for actor in self._actors:
            if actor.answer is None:
                self._give_job(actor)
        pending = [actor.answer for actor in self._actors if actor.answer is not None]
        if pending:
            done, _ = self._ray.wait(pending, timeout=_POLL_SECONDS)
            for actor in [a for a in self._actors if a.answer in done]:
                self._receive(actor)
        else:
            time.sleep(_POLL_SECONDS)
        if time.monotonic() - self._last_heartbeat >= HEARTBEAT_SECONDS:
            self._last_heartbeat = time.monotonic()
            for actor in self._actors:
                if actor.claim is not None:
                    self._store.send_heartbeat(actor.claim.key, self._worker)

    def stop(self) -> None:
        """Gives unfinished jobs back and ends all actors."""
        for actor in self._actors:
            if actor.claim is not None:
                self._store.give_back(actor.claim.key, self._worker)
        closing = [a.handle.close.remote() for a in self._actors if a.claim is None and a.ready]
        if closing:
            self._ray.wait(closing, num_returns=len(closing), timeout=10)
        for actor in self._actors:
            self._ray.kill(actor.handle)
        self._actors.clear()

    def _start_actors(self) -> None:
        """One for each processor that the cluster has now: nodes may join and leave."""
        processors = int(self._ray.cluster_resources().get("CPU", 0))
        now = time.monotonic()
        self._had_node = now if processors or self._actors else self._had_node
        if now - self._had_node > _NO_NODE_SECONDS:
            raise ClusterUnusable(
                address=self._address, reason=f"it has had no node for {_NO_NODE_SECONDS:g} seconds"
            )
        progress = self._store.progress(self._run_id)
        needed = min(processors, progress.pending - progress.blocked + progress.running)
        while len(self._actors) < needed:
            vectors = self._places.vectors
            handle = self._actor_class.remote(
                str(self._places.data), None if vectors is None else str(vectors)
            )
            self._actors.append(Actor(handle, handle.code_fingerprint.remote()))

    def _give_job(self, actor: Actor) -> None:
        claim = self._store.claim(self._run_id, self._worker, actor.base)
        if claim is None:
            return
        actor.claim, actor.start = claim, time.perf_counter()
        if claim.kind == "base":
            actor.answer = actor.handle.train_base.remote(claim.key, claim.spec)
            actor.base = claim.key
            return
        files = None if actor.base == claim.base else self._base_files(str(claim.base))
        actor.base = claim.base
        actor.answer = actor.handle.run_draw.remote(
            claim.key, claim.spec, claim.profile, claim.base_outcome, files
        )

    def _base_files(self, key: str) -> Any:
        """All draws of a base share one copy in Ray's object store."""
        if self._sent_base is None or self._sent_base[0] != key:
            self._sent_base = key, self._ray.put(read_base(self._executor.base_folder(key)))
        return self._sent_base[1]

    def _receive(self, actor: Actor) -> None:
        try:
            answer = self._ray.get(actor.answer)
        except self._ray.exceptions.RayError as error:  # the actor or its node is lost
            self._actors.remove(actor)
            if actor.claim is not None:
                reason = f"its node was lost ({type(error).__name__})"
                self._store.retry(actor.claim.key, self._worker, reason)
            else:
                self._count_failed_start(error)
            return
        self._failed_starts = 0
        claim, actor.answer, actor.claim = actor.claim, None, None
        if claim is None:
            self._compare_code(answer)
            actor.ready = True
        else:
            self._save(claim, answer, time.perf_counter() - actor.start)
            if "error" in answer:
                actor.base = None

    def _count_failed_start(self, error: Exception) -> None:
        """A node may be lost just when an actor starts on it. If several actors in a row cannot start,
        something else is wrong, such as a missing installation of adaptner."""
        self._failed_starts += 1
        if self._failed_starts >= _MAX_FAILED_STARTS:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ClusterUnusable(address=self._address, reason=lines[-1]) from error

    def _compare_code(self, found: str) -> None:
        if found != code_fingerprint():
            reason = f"a node has adaptner {found}, this machine has {code_fingerprint()}"
            raise ClusterUnusable(address=self._address, reason=reason)

    def _save(self, claim: Claim, answer: Answer, seconds: float) -> None:
        if "error" in answer:
            log = write_log(self._executor.output, claim.kind, claim.key, claim.spec, answer["log"])
            self._store.fail(claim.key, self._worker, answer["error"], log)
        elif claim.kind == "base":
            vectors = self._executor.vector_folder(claim.spec["vectors"])
            write_base(self._executor.base_folder(claim.key), answer["files"], vectors)
            self._store.finish(claim.key, seconds, answer["outcome"])
        else:
            self._store.finish(claim.key, seconds, {}, StoredResult(**answer["result"]))
