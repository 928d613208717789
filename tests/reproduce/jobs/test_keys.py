"""Which changes give a job another key."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproduce_kit import TABLE, TINY, copied_data, planned, request

from adaptner.methods import methods
from adaptner.reproduce.jobs import plan as plan_module
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.run.request import plan_request

pytestmark = pytest.mark.slow


def test_keys_depend_on_iterations_and_seed_but_not_on_the_rest_of_the_request(everything):
    def keys(**changes: object) -> set[str]:
        options = {"methods": ("hgda",), "targets": ("NCBI",), "sizes": ("5",), **changes}
        return {job.key for job in planned("hgda/3", everything, **options).jobs}

    first = keys()
    assert first == keys()
    assert first < keys(targets=("NCBI", "BC5CDR-disease"))
    assert first < keys(sizes=("5,10",))
    assert keys(draws=3) < first
    assert first == keys(output=Path("elsewhere"), jobs=7)
    for changes in ({"iterations": 7}, {"seed": 100}):
        assert not first & keys(**changes)
    (base,) = first & keys(limit=9)  # scoring less does not change the base
    assert base


def test_a_new_version_of_a_method_changes_the_keys_of_its_jobs(everything, monkeypatch):
    names = ("finetuning", "dann")
    before = planned("hgda/3", everything, methods=names, targets=("NCBI",), draws=1)
    monkeypatch.setattr(methods()["dann"], "version", 99)
    after = planned("hgda/3", everything, methods=names, targets=("NCBI",), draws=1)
    kept = {job.key for job in before.jobs} & {job.key for job in after.jobs}
    # both methods adapt the base that fine-tuning trains
    assert {job.key for job in after.jobs if job.spec.get("method") != "dann"} == kept
    monkeypatch.setattr(methods()["finetuning"], "version", 99)
    renewed = planned("hgda/3", everything, methods=names, targets=("NCBI",), draws=1)
    assert not kept & {job.key for job in renewed.jobs}


def test_a_new_version_of_the_protocol_changes_all_keys(everything, monkeypatch):
    before = planned("hgda/3", everything, methods=("hgda",), draws=1)
    monkeypatch.setattr(plan_module, "PROTOCOL_VERSION", 99)
    after = planned("hgda/3", everything, methods=("hgda",), draws=1)
    assert not {job.key for job in before.jobs} & {job.key for job in after.jobs}


def test_a_changed_file_changes_the_keys_of_the_jobs_that_read_it(tmp_path):
    """Brute force over all corpora and splits."""
    data = copied_data(tmp_path)
    requested = request(tmp_path / "out", data=data)

    def reads(plan: JobPlan) -> dict[str, set[str]]:
        spec_of = {job.key: job.spec for job in plan.jobs}
        found = {}
        for job in plan.jobs:
            base = spec_of[job.base] if job.base else job.spec
            found[job.key] = {place for place, _ in (*base["sources"], *base["held_out"])}
        return found

    before = reads(plan_request(TINY, TABLE, requested))
    places = {place for own in before.values() for place in own}
    assert places == {"cellline", "disease", "drug", "gene", "species"}
    for place in sorted(places):
        for file in sorted((data / place).glob("*.jsonl")):
            content = file.read_bytes()
            file.write_bytes(content + content.splitlines(keepends=True)[0])
            after = reads(plan_request(TINY, TABLE, requested))
            kept = {key for key, own in before.items() if place not in own}
            assert set(before) & set(after) == kept
            assert len(after) == len(before)
            file.write_bytes(content)
    assert reads(plan_request(TINY, TABLE, requested)) == before


def test_changed_vectors_change_all_keys(everything, tmp_path):
    other = tmp_path / "mine.npy"
    other.write_bytes(b"others")
    options = {"methods": ("maml",), "sizes": ("5",), "draws": 1}
    first = {job.key for job in planned("hgda/3", everything, **options).jobs}
    second = {job.key for job in planned("hgda/3", everything, vectors=other, **options).jobs}
    assert not first & second


SMALL_REQUEST = {"targets": ("NCBI",), "sizes": ("5",), "draws": 2}


def test_draws_with_entities_have_keys_of_their_own_and_the_same_bases(everything):
    options = {**SMALL_REQUEST, "methods": ("hgda", "in-domain")}
    before = planned("hgda/3", everything, **options)
    after = planned("hgda/3", everything, **options, draws_from="with-entities")
    assert {job.key for job in before.bases} == {job.key for job in after.bases}
    assert not {job.key for job in before.draws} & {job.key for job in after.draws}
    assert {job.spec["protocol"] for job in before.draws} == {"few-shot/strict-micro-f1"}
    assert not any("draws_from" in job.spec for job in before.draws)
    for job in after.draws:
        assert job.spec["protocol"] == "few-shot/draws-with-entities/strict-micro-f1"
        assert job.spec["draws_from"] == "with-entities"


def test_more_bases_keep_the_jobs_of_the_first(everything):
    options = {**SMALL_REQUEST, "methods": ("hgda", "in-domain")}
    one = planned("hgda/3", everything, **options)
    three = planned("hgda/3", everything, **options, bases=3)
    assert {job.key for job in one.jobs} < {job.key for job in three.jobs}
    assert len(three.bases) == 2 * 3
    assert len(three.draws) == 2 * 3 * 2
    seed_of = {job.key: job.spec["seed"] for job in three.bases}
    for name in options["methods"]:
        draws = [job for job in three.draws if job.spec["method"] == name]
        runs = {(job.spec["seed"], seed_of[job.base]) for job in draws}
        assert runs == {(draw, base) for draw in range(2) for base in range(3)}
        # without training, other noise of adaptation takes the place of other bases
        noise = {seed_of[job.base]: job.spec.get("noise", 0) for job in draws}
        assert noise == ({0: 0, 1: 1000, 2: 2000} if name == "in-domain" else {0: 0, 1: 0, 2: 0})
