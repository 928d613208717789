"""Whole runs of a tiny table: stored results, continued runs, lost workers and failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from reproduce_kit import ONE, OWN, SMALL, TABLE, TINY, copied_data, ran, request
from store_kit import PATIENCE, result, until

from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.errors import JobsFailed, OutputExists
from adaptner.evaluation.protocol import evaluate_few_shot
from adaptner.methods import method
from adaptner.reproduce.jobs.code_fingerprint import code_fingerprint
from adaptner.reproduce.jobs.execution import JobExecutor
from adaptner.reproduce.jobs.job import DataPaths
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.from_plan import (
    comparability_notes,
    rows_not_run,
    write_plan_report,
)
from adaptner.reproduce.run.display import ProgressDisplay, best_so_far
from adaptner.reproduce.run.local import WorkerPool
from adaptner.reproduce.run.request import plan_request
from adaptner.reproduce.run.runner import (
    RunSummary,
    hardness_records,
    raise_failures,
    run_id_of,
    stored_summary,
)
from adaptner.reproduce.run.store import STORE, Store
from adaptner.reproduce.run.worker_identity import WorkerIdentity
from adaptner.training.budget import Budget

pytestmark = [pytest.mark.slow, pytest.mark.processes]

VARYING = ("seconds", "base_seconds", "peak_mb", "finished")


def stored(output: Path) -> dict[str, StoredResult]:
    with Store(output / STORE, make=False) as store:
        return {r.key: r for r in store.results()}


def reproducible(results: dict[str, StoredResult]) -> list[dict[str, object]]:
    """The fields that do not depend on when and where a result was computed."""
    rows = [r.as_dict() for _, r in sorted(results.items())]
    return [{k: v for k, v in row.items() if k not in VARYING} for row in rows]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunSummary]:
    """An undisturbed run of the tiny table. Tests must not change it."""
    output = tmp_path_factory.mktemp("whole") / "out"
    return output, ran(TINY, request(output, jobs=2))[0]


def test_stored_results_equal_those_of_direct_calls(whole):
    """Computes every cell again without plan, store and workers."""
    output, summary = whole
    assert (summary.done, summary.computed, summary.failures) == (16, 16, [])
    found = {(r.method, r.target, r.size, r.seed): r for r in stored(output).values()}
    assert len(found) == 2 * 3 * 1 * 2
    for name in ("hgda", "maml"):
        # the profile quick has one base at K = 10, whatever the table's settings say
        chosen = method(name)(**{**SMALL, "k": 10})
        for group in TINY.groups:
            targets = [load_corpus(OWN / t.corpus) for t in group.targets]
            sources = source_domains(
                group_by_domain(load_corpus(OWN / s) for s in group.sources),
                [s for target in targets for s in target.split("test")],
            )
            base = chosen.fit(sources, Budget(4))
            for target in targets:
                for row in evaluate_few_shot(chosen, base, target, [5], [0, 1], limit=15):
                    ours = found[name, target.name, 5, row.seed]
                    assert (ours.f1, ours.precision, ours.recall) == (
                        row.f1,
                        row.precision,
                        row.recall,
                    )
                    assert (ours.steps, ours.entities, ours.sentences) == (10, row.entities, 15)
                    assert ours.data[target.name] == target.sha256
                    assert set(ours.data) == {target.name, "disease", "drug"}
                    assert ours.limited
                    assert ours.iterations == 4
                    assert ours.profile == "custom"
                    assert ours.settings["k"] == 10
                    assert (ours.method_version, ours.protocol_version) == (1, 1)
                    assert ours.code == code_fingerprint()
                    assert ours.peak_mb > 0


def test_a_repeated_run_computes_nothing(whole):
    output, _ = whole
    before = stored(output)
    summary, messages = ran(TINY, request(output))
    assert (summary.done, summary.computed) == (16, 0)
    assert stored(output) == before  # even the times: nothing was written anew
    assert "16 of 16 jobs are already done" in messages
    assert stored_summary(TINY, TABLE, request(output)).done == 16


def test_a_larger_run_reuses_bases_and_draws(tmp_path):
    few = request(tmp_path / "out", methods=("maml",), draws=1)
    assert ran(ONE, few)[0].computed == 2
    base = stored(tmp_path / "out").popitem()[1].base_key
    weights = tmp_path / "out" / "bases" / base / "weights.safetensors"
    written = weights.stat().st_mtime_ns
    other_table = replace(ONE, table="hgda/4")
    summary, _ = ran(other_table, replace(few, sizes=("5", "8"), draws=2))
    assert (summary.done, summary.computed) == (5, 3)
    assert {r.base_key for r in stored(tmp_path / "out").values()} == {base}
    assert weights.stat().st_mtime_ns == written


def test_runs_of_crossed_bases_and_draws_with_entities_equal_those_of_direct_calls(tmp_path):
    kind = "with-entities"
    settings = {name: value for name, value in SMALL.items() if name != "record_every"}
    table = replace(ONE, settings=settings)
    requested = request(
        tmp_path / "out", methods=("maml", "in-domain"), bases=2, draws_from=kind, iterations=2
    )
    summary, _ = ran(table, requested)
    assert (summary.done, summary.failures) == (2 * (2 + 4), [])
    target = load_corpus(OWN / "cellline")
    sources = source_domains(
        group_by_domain(load_corpus(OWN / name) for name in ("disease", "drug")),
        target.split("test"),
    )
    found = {(r.method, r.seed, r.base_seed): r for r in stored(tmp_path / "out").values()}
    assert len(found) == 2 * 2 * 2
    for name in ("maml", "in-domain"):
        chosen = method(name)(**{**settings, "k": 10})
        for number in (0, 1):
            base = chosen.fit(sources, Budget(2), seed=number)
            rows = evaluate_few_shot(
                chosen, base, target, [5], [0, 1], limit=15, draws_from=kind,
                noise=1000 * number if name == "in-domain" else 0,
            )  # fmt: skip
            for row in rows:
                ours = found[name, row.seed, number]
                assert (ours.f1, ours.entities) == (row.f1, row.entities)
                assert (ours.draws_from, ours.protocol) == (kind, row.protocol)
    pages = write_plan_report(summary.plan, requested)
    assert {page.parent.name for page in pages} == {"hgda-3-custom-with-entities"}
    text = pages[1].read_text(encoding="utf-8")
    assert "5 sentences with entities" in text
    assert "the root of the sum of two variances" in text


def test_a_run_keeps_the_hardness_records_of_hgda(whole):
    output, summary = whole
    records = hardness_records(output, summary.plan)
    assert {r["iteration"] for r in records} == {1, 2, 4}
    assert {r["domain"] for r in records} <= {"Disease", "Drug"}
    assert len({r["run"] for r in records}) == 2


def test_a_table_of_hardness_needs_only_the_base(whole):
    output, _ = whole
    summary, _ = ran(replace(ONE, table="hgda/1", hardness=True), request(output, methods=()))
    assert (summary.done, summary.computed) == (1, 0)  # the base of Table 3
    assert {r["iteration"] for r in hardness_records(output, summary.plan)} == {1, 2, 4}


def test_notes_name_what_does_not_compare(whole):
    _, summary = whole
    notes = comparability_notes(summary.plan)
    assert "custom" in notes[0]
    assert "15 test sentences" in notes[0]
    assert "HGDA*" in rows_not_run(summary.plan)


def submitted(output: Path, iterations: int) -> tuple[str, DataPaths]:
    """Stores the jobs of a plan for workers that the test starts."""
    plan = plan_request(ONE, TABLE, request(output, iterations=iterations, methods=("maml",)))
    run_id = run_id_of(plan)
    with Store(output / STORE) as store:
        store.submit(run_id, "hgda/3", plan.profile.name, plan.jobs)
    return run_id, DataPaths(OWN)


def test_results_are_the_same_after_a_worker_was_killed(tmp_path):
    """A second run, after a worker was killed in training, ends like an undisturbed one."""
    iterations = 60
    run_id, places = submitted(tmp_path / "cut", iterations)
    pool = WorkerPool(tmp_path / "cut", run_id, places)
    with Store(tmp_path / "cut" / STORE) as store:
        pool.refill(1, store.progress(run_id))
        until(lambda: list((tmp_path / "cut" / "bases").glob("*/metrics.jsonl")), "training")
        os.kill(pool.pids[0], signal.SIGKILL)
        until(lambda: not pool.alive(), "the end of the worker")
    requested = request(tmp_path / "cut", iterations=iterations, methods=("maml",))
    summary, _ = ran(ONE, requested)
    assert (summary.done, summary.failures) == (3, [])
    executor = JobExecutor(places, tmp_path / "whole")  # undisturbed and without workers
    (base,) = summary.plan.bases
    outcome = executor.train_base(base.key, base.spec)
    whole = {j.key: executor.run_draw(j.key, j.spec, "custom", outcome) for j in summary.plan.draws}
    assert reproducible(stored(tmp_path / "cut")) == reproducible(whole)
    weights = [
        tmp_path / run / "bases" / base.key / "weights.safetensors" for run in ("cut", "whole")
    ]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_each_draw_has_its_own_sample_of_the_source(tmp_path):
    """A base and its draw read the same sample; another draw reads another."""
    messages = {name: SMALL[name] for name in ("k", "tasks", "encoder")}
    protocol = replace(ONE, source_sentences=12, settings={**messages, "decoders": "shared"})
    plan = plan_request(protocol, TABLE, request(tmp_path, methods=("agg",)))
    executor = JobExecutor(DataPaths(OWN), tmp_path)
    read = {}
    for job in plan.jobs:
        (domain, *_) = executor._source_domains(job.spec)
        assert {len(own) for own in domain.corpora.values()} == {12}
        read.setdefault(job.spec["seed"], []).append(domain.sentences)
    assert len(plan.bases) == 2
    assert all(found == own[0] for own in read.values() for found in own)
    assert read[0][0] != read[1][0]


def running_worker(store: Store) -> WorkerIdentity:
    ((worker,),) = store._db.execute("SELECT worker FROM jobs WHERE state = 'running'").fetchall()
    return WorkerIdentity.parse(worker)


RUNNER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from reproduce_kit import ONE, ran, request
print("begun", flush=True)
ran(ONE, request(Path(sys.argv[2]), iterations=100_000, methods=("maml",), jobs=1))
"""


def test_workers_end_with_their_runner(tmp_path):
    """A killed runner leaves no process, and its jobs become pending again."""
    here = str(Path(__file__).parents[2] / "support")
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, here, str(tmp_path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    until(lambda: list((tmp_path / "bases").glob("*/metrics.jsonl")), "training")
    with Store(tmp_path / STORE) as store:
        holder = running_worker(store)
        assert holder.pid != runner.pid
        runner.kill()
        runner.wait(PATIENCE)
        until(lambda: holder.has_ended(0.0), "the end of the worker")
        plan = plan_request(ONE, TABLE, request(tmp_path, iterations=100_000, methods=("maml",)))
        store.submit(run_id_of(plan), "hgda/3", "custom", plan.jobs)
        assert store.progress(run_id_of(plan)).running == 0


def test_a_failed_draw_is_reported_with_its_log_and_others_run(tmp_path):
    requested = request(tmp_path, methods=("maml",), sizes=("5", "100000"), draws=1)
    summary, _ = ran(ONE, requested)
    assert summary.done == 2
    (failure,) = summary.failures
    assert "100000 are needed" in failure.error
    log = Path(failure.log).read_text()
    assert "Traceback" in log
    assert '"size": 100000' in log
    with pytest.raises(JobsFailed, match="1 of 3 jobs failed") as error:
        raise_failures(summary)
    assert failure.log in str(error.value)
    assert len(stored(tmp_path)) == 1


def test_draws_of_a_failed_base_are_counted_as_waiting(tmp_path):
    one_source = replace(ONE, groups=(replace(ONE.groups[0], sources=("disease",)),))
    summary, _ = ran(one_source, request(tmp_path, draws=2))
    assert summary.done == 3  # MAML needs no second domain
    (failure,) = summary.failures
    assert "needs at least two" in failure.error
    assert summary.blocked == 2
    with pytest.raises(JobsFailed, match="2 more wait for a failed base"):
        raise_failures(summary)


def test_results_on_changed_data_are_computed_again(tmp_path):
    data = copied_data(tmp_path)
    requested = request(tmp_path / "out", data=data, methods=("maml",), draws=1)
    assert ran(TINY, requested)[0].computed == 5
    before = stored(tmp_path / "out")
    test = data / "cellline" / "test.jsonl"
    test.write_bytes(test.read_bytes() + test.read_bytes().splitlines(keepends=True)[0])
    summary, messages = ran(TINY, requested)
    assert any(
        message.startswith("cellline has changed since the last run") for message in messages
    )
    assert summary.computed == 2  # the base of that group, and its draw
    after = stored(tmp_path / "out")
    assert before.items() < after.items()
    (new,) = (r for key, r in after.items() if key not in before)
    assert new.target == "cellline"


def test_a_job_fails_if_its_data_changed_after_planning(tmp_path):
    data = copied_data(tmp_path)
    plan = plan_request(ONE, TABLE, request(tmp_path / "out", data=data, methods=("maml",)))
    run_id = run_id_of(plan)
    with Store(tmp_path / "out" / STORE) as store:
        store.submit(run_id, "hgda/3", "custom", plan.jobs)
        train = data / "drug" / "train.jsonl"
        train.write_bytes(train.read_bytes() * 2)
        command = [sys.executable, "-m", "adaptner.reproduce.run.worker"]
        subprocess.run(
            [*command, str(tmp_path / "out"), run_id, "cpu", str(data)],
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=True,
        )
        (failure,) = store.failures(run_id)
    assert "drug has changed since the run was planned" in failure.error


def test_a_removed_base_is_trained_again_when_a_draw_needs_it(tmp_path):
    requested = request(tmp_path / "out", methods=("maml",), draws=1)
    ran(ONE, requested)
    before = reproducible(stored(tmp_path / "out"))
    base = next((tmp_path / "out" / "bases").iterdir())
    (base / "manifest.json").unlink()
    assert ran(ONE, requested)[0].computed == 0  # no draw needs it
    summary, _ = ran(ONE, replace(requested, draws=2))
    assert summary.done == 3
    assert (base / "manifest.json").is_file()
    assert all(row in reproducible(stored(tmp_path / "out")) for row in before)


def test_a_file_as_output_raises_an_error(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OutputExists):
        ran(ONE, request(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "mine"


def test_best_so_far_averages_over_common_draws():
    def stored_result(name: str, seed: int, f1: float) -> StoredResult:
        return result(f"{name}{seed}", method=name, seed=seed, f1=f1)

    assert best_so_far([]) == ""
    apart = best_so_far([stored_result("hgda", 0, 0.25), stored_result("maml", 1, 0.75)])
    assert apart == "best so far: maml 0.750, hgda 0.250 (mean F1, different draws)"
    both = [
        stored_result("hgda", 0, 0.5),
        stored_result("hgda", 1, 0.0),
        stored_result("maml", 0, 0.25),
    ]
    assert best_so_far(both) == "best so far: hgda 0.500, maml 0.250 (mean F1, 1 common draws)"


def test_the_progress_line_has_counts_time_left_and_best_methods(whole, capsys):
    output, summary = whole
    display = ProgressDisplay(summary.plan, run_id_of(summary.plan), OWN, 2, quiet=False)
    with Store(output / STORE) as store:
        line = display.line(store)
        assert line.startswith("16 of 16 jobs done, 0 running; ")
        assert "expected less than a minute more; best so far: " in line
        with display:
            display.update(store)  # prints nothing before half a minute
    assert capsys.readouterr().err == ""
