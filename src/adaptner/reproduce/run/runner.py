"""Runs a table: plans its jobs, computes those that are not in the store yet, and sums up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from adaptner.errors import JobsFailed, OutputExists
from adaptner.models.storage import MANIFEST
from adaptner.reproduce.jobs.job import DataPaths
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.run.display import ProgressDisplay
from adaptner.reproduce.run.local import run_local
from adaptner.reproduce.run.request import RunRequest, data_paths, plan_request
from adaptner.reproduce.run.store import STORE, Failure, Store
from adaptner.reproduce.tables.protocol import Protocol
from adaptner.reproduce.tables.published import PublishedTable

Notify = Callable[[str], None]


@dataclass(frozen=True)
class RunSummary:
    plan: JobPlan
    done: int
    computed: int  # in this run
    failures: list[Failure] = field(default_factory=list)
    blocked: int = 0


def run(
    protocol: Protocol,
    table: PublishedTable,
    request: RunRequest,
    notify: Notify,
    quiet: bool = False,
) -> RunSummary:
    """Computes what is not in the store yet. Failed jobs are listed in the summary, and do not keep
    other jobs from running."""
    plan = plan_request(protocol, table, request)
    places = data_paths(protocol, request)
    output = request.output.absolute()
    if output.exists() and not output.is_dir():
        raise OutputExists(file=output, kind="a folder")
    run_id = run_id_of(plan)
    with Store(output / STORE) as store:
        _submit(store, plan, run_id, output, notify)
        before = store.progress(run_id)
    if before.done:
        notify(f"{before.done} of {before.total} jobs are already done")
    with ProgressDisplay(plan, run_id, places.data, request.jobs, quiet) as display:
        _compute(output, run_id, places, request, display)
    with Store(output / STORE) as store:
        after = store.progress(run_id)
        failures = store.failures(run_id)
    return RunSummary(plan, after.done, after.done - before.done, failures, after.blocked)


def stored_summary(protocol: Protocol, table: PublishedTable, request: RunRequest) -> RunSummary:
    """What the store has of a request; nothing is computed."""
    plan = plan_request(protocol, table, request)
    with Store(request.output / STORE, make=False) as store:
        renew_keys(store, request.output)
        done = len(store.done_keys() & {job.key for job in plan.jobs})
    return RunSummary(plan, done, 0)


def run_id_of(plan: JobPlan) -> str:
    """The same for the same jobs of the same table, so that a repeated command continues its run."""
    state = sha256(f"{plan.protocol.table} {plan.profile.name}\n".encode())
    for job in plan.jobs:
        state.update(job.key.encode())
    return state.hexdigest()[:20]


def raise_failures(summary: RunSummary) -> None:
    if summary.failures:
        first = summary.failures[0]
        blocked = f", {summary.blocked} more wait for a failed base" if summary.blocked else ""
        raise JobsFailed(
            failed=len(summary.failures),
            waiting=blocked,
            total=len(summary.plan.jobs),
            first=first.error or "no reason known",
            log=first.log or "nowhere",
        )


def renew_keys(store: Store, output: Path) -> None:
    """Settings may have been renamed since the store was written; folders of bases follow."""
    for renewed in store.renew_keys():
        old, new = (output / "bases" / key for key in (renewed.old_key, renewed.job.key))
        if old.is_dir() and not new.exists():
            old.rename(new)


def hardness_records(output: Path, plan: JobPlan) -> list[dict[str, Any]]:
    """The tasks that HGDA's bases recorded, each with the key of its base."""
    from adaptner.training.loop import HARDNESS
    from adaptner.training.records import read_metrics

    return [
        {**record, "run": job.key[:12]}
        for job in plan.bases
        if job.spec["learner"] == "hgda"
        for record in read_metrics(output / "bases" / job.key / HARDNESS)
    ]


def _submit(store: Store, plan: JobPlan, run_id: str, output: Path, notify: Notify) -> None:
    for name, old in store.changed_corpora(plan.checksums).items():
        new = plan.checksums[name]
        notify(
            f"{name} has changed since the last run ({old[:12]} -> {new[:12]}): results that "
            "depend on it are computed again"
        )
    renew_keys(store, output)
    store.submit(run_id, plan.protocol.table, plan.profile.name, plan.jobs)
    _reopen_lost_bases(store, plan, run_id, output)


def _compute(
    output: Path, run_id: str, places: DataPaths, request: RunRequest, display: ProgressDisplay
) -> None:
    if request.ray is None:
        run_local(output, run_id, places, request.jobs, display.update)
        return
    from adaptner.reproduce.run.ray_workers import run_on_ray

    run_on_ray(output, run_id, places, request.ray, display.update)


def _reopen_lost_bases(store: Store, plan: JobPlan, run_id: str, output: Path) -> None:
    """Bases that unfinished draws need are trained again if their folders were removed."""
    states = store.states(run_id)
    needed = {job.base for job in plan.draws if states[job.key][0] != "done"}
    for key in needed:
        if key is not None and states[key][0] == "done":
            folder = output / "bases" / key
            if not (folder / MANIFEST).is_file():
                store.reopen(key)
