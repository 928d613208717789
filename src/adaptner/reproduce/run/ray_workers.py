"""The same jobs on a Ray cluster (extra ``cluster``): actors compute, the driver alone writes.

A job is claimed by the driver, computed by an actor on any node, and stored by the driver when the
answer is there. If the node is lost first, the claim goes back and another actor computes the job:
nothing is lost, and since only stored answers count, nothing is doubled.
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
from adaptner.reproduce.run.ray_node import Answer, Node
from adaptner.reproduce.run.store import STORE, Claim, Store
from adaptner.reproduce.run.worker import write_log
from adaptner.reproduce.run.worker_identity import BEAT_SECONDS, WorkerIdentity

_POLL_SECONDS = 0.5
_EMPTY_SECONDS = 300.0  # a cluster without nodes: somebody may be starting one
_STILLBORN = 5  # actors that die before they answer, one after the other


def run_on_ray(
    output: Path, run_id: str, places: DataPaths, address: str, look: Callable[[Store], None]
) -> None:
    """Until nothing is left to do. ``address``: HOST:PORT, ``auto`` (this machine's cluster) or
    ``local`` (a cluster of this machine for this run)."""
    ray = connected(address)
    try:
        with Store(output / STORE) as store:
            driver = RayDriver(ray, store, run_id, output, places, address)
            try:
                while not store.progress(run_id).over:
                    driver.turn()
                    look(store)
                look(store)
            finally:
                driver.dismiss()
    finally:
        ray.shutdown()


@dataclass
class Actor:
    """``asked`` is the answer we wait for; before the first job it is the version of its code."""

    handle: Any
    asked: Any
    claim: Claim | None = None
    ready: bool = False
    base: str | None = None  # the one it has
    begun: float = field(default_factory=time.perf_counter)


class RayDriver:
    def __init__(
        self, ray: Any, store: Store, run_id: str, output: Path, places: DataPaths, address: str
    ) -> None:
        self._ray, self._store, self._ask = ray, store, run_id
        self._address = address
        self._places = places
        self._me = WorkerIdentity.mine()
        self._executor = JobExecutor(places, output)
        self._actors: list[Actor] = []
        self._stillborn = 0
        self._peopled = time.monotonic()
        self._sent: tuple[str, Any] | None = None  # the base last sent, in the object store
        self._beaten = time.monotonic()
        self._kind = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Node)

    def turn(self) -> None:
        """Hire, hand out, wait a moment for answers, store them."""
        self._hire()
        for actor in self._actors:
            if actor.asked is None:
                self._hand_out(actor)
        waited = [actor.asked for actor in self._actors if actor.asked is not None]
        if waited:
            done, _ = self._ray.wait(waited, timeout=_POLL_SECONDS)
            for actor in [a for a in self._actors if a.asked in done]:
                self._answered(actor)
        else:
            time.sleep(_POLL_SECONDS)
        if time.monotonic() - self._beaten >= BEAT_SECONDS:
            self._beaten = time.monotonic()
            for actor in self._actors:
                if actor.claim is not None:
                    self._store.send_heartbeat(actor.claim.key, self._me)

    def dismiss(self) -> None:
        """Give back what is not done; actors end with their handles."""
        for actor in self._actors:
            if actor.claim is not None:
                self._store.give_back(actor.claim.key, self._me)
        closing = [a.handle.close.remote() for a in self._actors if a.claim is None and a.ready]
        if closing:
            self._ray.wait(closing, num_returns=len(closing), timeout=10)
        for actor in self._actors:
            self._ray.kill(actor.handle)
        self._actors.clear()

    def _hire(self) -> None:
        """As many actors as the cluster has processors now: nodes may come and go."""
        processors = int(self._ray.cluster_resources().get("CPU", 0))
        now = time.monotonic()
        self._peopled = now if processors or self._actors else self._peopled
        if now - self._peopled > _EMPTY_SECONDS:
            raise ClusterUnusable(address=self._address, reason="it has no node any more")
        progress = self._store.progress(self._ask)
        wanted = min(processors, progress.pending - progress.blocked + progress.running)
        while len(self._actors) < wanted:
            vectors = self._places.vectors
            handle = self._kind.remote(
                str(self._places.data), None if vectors is None else str(vectors)
            )
            self._actors.append(Actor(handle, handle.code.remote()))

    def _hand_out(self, actor: Actor) -> None:
        claim = self._store.claim(self._ask, self._me, actor.base)
        if claim is None:
            return
        actor.claim, actor.begun = claim, time.perf_counter()
        if claim.kind == "base":
            actor.asked = actor.handle.learn.remote(claim.key, claim.spec)
            actor.base = claim.key
            return
        files = None if actor.base == claim.base else self._base_files(str(claim.base))
        actor.base = claim.base
        actor.asked = actor.handle.draw.remote(
            claim.key, claim.spec, claim.profile, claim.base_outcome, files
        )

    def _base_files(self, key: str) -> Any:
        """One copy in Ray's object store serves all draws of a base."""
        if self._sent is None or self._sent[0] != key:
            self._sent = key, self._ray.put(read_base(self._executor.base_folder(key)))
        return self._sent[1]

    def _answered(self, actor: Actor) -> None:
        try:
            answer = self._ray.get(actor.asked)
        except self._ray.exceptions.RayError as error:  # the actor or its node is gone
            self._actors.remove(actor)
            if actor.claim is not None:
                why = f"its node was lost ({type(error).__name__})"
                self._store.retry(actor.claim.key, self._me, why)
            else:
                self._give_up_on_stillborn(error)
            return
        self._stillborn = 0
        claim, actor.asked, actor.claim = actor.claim, None, None
        if claim is None:
            self._compare_code(answer)
            actor.ready = True
        else:
            self._keep(claim, answer, time.perf_counter() - actor.begun)
            if "error" in answer:
                actor.base = None

    def _give_up_on_stillborn(self, error: Exception) -> None:
        """A node may be lost just when an actor begins on it; nodes that cannot begin any have
        another trouble, such as no adaptner."""
        self._stillborn += 1
        if self._stillborn >= _STILLBORN:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ClusterUnusable(address=self._address, reason=lines[-1]) from error

    def _compare_code(self, found: str) -> None:
        if found != code_fingerprint():
            reason = f"a node has version {found}, this is {code_fingerprint()}"
            raise ClusterUnusable(address=self._address, reason=reason)

    def _keep(self, claim: Claim, answer: Answer, seconds: float) -> None:
        if "error" in answer:
            log = write_log(self._executor.output, claim.kind, claim.key, claim.spec, answer["log"])
            self._store.fail(claim.key, self._me, answer["error"], log)
        elif claim.kind == "base":
            vectors = self._executor.vector_folder(claim.spec["vectors"])
            write_base(self._executor.base_folder(claim.key), answer["files"], vectors)
            self._store.finish(claim.key, self._me, seconds, answer["outcome"])
        else:
            self._store.finish(claim.key, self._me, seconds, {}, StoredResult(**answer["result"]))
