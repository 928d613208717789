"""Stored results are found after settings were renamed or added."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reproduce_kit import ONE, TABLE, ran, request
from store_kit import result

from adaptner.reproduce.jobs.job import Job
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.jobs.renewal import renewed_jobs
from adaptner.reproduce.run.request import plan_request
from adaptner.reproduce.run.runner import stored_summary
from adaptner.reproduce.run.store import STORE, Store
from adaptner.reproduce.run.worker_identity import WorkerIdentity


@pytest.fixture
def plan(tmp_path: Path) -> JobPlan:
    return plan_request(ONE, TABLE, request(tmp_path / "out", methods=("maml",)))


def older(plan: JobPlan) -> list[Job]:
    """The jobs of a plan as an earlier version had them: one setting with its old name, and one that
    did not exist yet."""
    jobs: dict[str, Job] = {}
    for job in plan.jobs:
        settings: dict[str, Any] = dict(job.spec["settings"])
        encoder = dict(settings.pop("encoder"))
        encoder["wide"] = encoder.pop("lexical_features")
        del settings["per_token"]
        spec = {**job.spec, "settings": {**settings, "encoder": encoder}}
        base = None
        if job.base is not None:
            base = spec["base"] = jobs[job.base].key
        jobs[job.key] = Job(job.kind, spec, base)
    return list(jobs.values())


def stored(output: Path, jobs: list[Job]) -> Store:
    """A store with a result for each draw, and a folder for each base."""
    store = Store(output / STORE)
    store.submit("run", "hgda/3", "custom", jobs)
    for job in jobs:
        made = None if job.base is None else result(job.key, base_key=job.base)
        store.finish(job.key, 1.0, {"seconds": 2.0}, made)
        if job.kind == "base":
            (output / "bases" / job.key).mkdir(parents=True)
    return store


def test_renamed_and_added_settings_give_todays_keys(plan):
    old = older(plan)
    renewed = renewed_jobs([(job.key, job.kind, job.spec) for job in old])
    assert {r.old_key: r.job.key for r in renewed} == {
        before.key: job.key for before, job in zip(old, plan.jobs, strict=True)
    }
    assert renewed_jobs([(job.key, job.kind, job.spec) for job in plan.jobs]) == []


def test_a_specification_that_is_no_longer_valid_stays_unchanged(plan):
    (base, *_) = plan.jobs
    for change in (
        {"learner": "no such method"},
        {"settings": {**base.spec["settings"], "no such setting": 1}},
    ):
        spec = {**base.spec, **change}
        assert renewed_jobs([("key", "base", spec)]) == []


def test_a_store_keeps_results_and_bases_under_todays_keys(plan, tmp_path):
    output = tmp_path / "out"
    with stored(output, older(plan)) as store:
        assert not store.done_keys() & {job.key for job in plan.jobs}
    summary = stored_summary(ONE, TABLE, request(output, methods=("maml",)))
    assert summary.done == len(plan.jobs)
    with Store(output / STORE) as store:
        found = {r.key: r for r in store.results(run_id="run")}
    assert set(found) == {job.key for job in plan.draws}
    assert all(found[job.key].base_key == job.base for job in plan.draws)
    assert all(found[job.key].settings == job.spec["settings"] for job in plan.draws)
    assert {p.name for p in (output / "bases").iterdir()} == {job.key for job in plan.bases}


def test_keys_stay_while_a_worker_is_running(plan, tmp_path):
    jobs = older(plan)
    with Store(tmp_path / STORE) as store:
        store.submit("run", "hgda/3", "custom", jobs)
        worker = WorkerIdentity.new()
        assert store.claim("run", replace(worker, pid=2**22 + 1)) is not None  # no such process
        assert len(store.renew_keys()) == len(jobs)
        assert store.claim("run", worker) is not None
        changed = [{**job.spec, "settings": {}} for job in older(plan)]
        store.submit("other", "hgda/3", "custom", [Job("base", spec) for spec in changed[:1]])
        assert store.renew_keys() == []


def test_jobs_computed_again_under_todays_keys_stay(plan, tmp_path):
    old = older(plan)
    with stored(tmp_path / "out", [*old, *plan.jobs]) as store:
        assert store.renew_keys() == []
        assert len(store.results()) == 2 * len(plan.draws)


def test_a_run_goes_on_from_an_older_store(plan, tmp_path):
    output = tmp_path / "out"
    stored(output, older(plan)).close()
    summary, _ = ran(ONE, request(output, methods=("maml",)))
    assert (summary.done, summary.computed) == (len(plan.jobs), 0)
