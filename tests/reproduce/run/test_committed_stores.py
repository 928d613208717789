"""The stores under docs/results are usable: today's plans find their results."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adaptner.methods import methods
from adaptner.reproduce.jobs import plan as plan_module
from adaptner.reproduce.jobs.job import Job
from adaptner.reproduce.run.request import RunRequest, plan_request
from adaptner.reproduce.run.store import Store
from adaptner.reproduce.tables.protocol import Protocol, find_table, folder_of
from adaptner.reproduce.tables.protocols import protocol_of

RESULTS = Path(__file__).parents[3] / "docs" / "results"
STORES = {
    "jia2019/results.sqlite": 77,
    "jia2019/pdaln-results.sqlite": 6,
    "pdaln/results.sqlite": 132,
    "pdaln/rivals-minilm.sqlite": 9,
    "transformers/rates.sqlite": 12,
    "transformers/results.sqlite": 54,
}


@dataclass
class Command:
    """Arguments of ``adaptner reproduce``; ``settings`` is the content of its --config file."""

    table: str
    settings: str = ""
    whole_source: bool = False  # with all sentences of the sources, and a base for each target
    arguments: dict[str, Any] = field(default_factory=dict)


def command(
    table: str, settings: str = "", whole_source: bool = False, **arguments: Any
) -> Command:
    return Command(table, settings, whole_source, arguments)


def config(name: str) -> str:
    return (RESULTS / name).read_text(encoding="utf-8")


MINILM = {"encoder": "minilm", "iterations": 400, "limit": 1000}
BILSTM = {"targets": ("wnut16-conll",), "iterations": 400, "limit": 1000}
FEW_STEPS = config("pdaln/bilstm.toml")
FAST = "[adaptation]\nsteps = 200\n[adaptation.optimiser]\nrate = 0.1\n"
RANDOM_START = "[adaptation]\nnear_start = false\n"
HGDA = {"encoder": "minilm", "limit": 500, "draws": 3}
HGDA_METHODS = {**HGDA, "methods": ("hgda", "in-domain"), "sizes": ("5,20,50",)}
RATES = {**HGDA, "methods": ("in-domain",), "targets": ("ncbi-disease",), "sizes": ("50",)}
COMMANDS = {
    "jia2019/results.sqlite": [
        command("jia2019/3", sizes=("100", "100%"), limit=10000),
        command("jia2019/4", methods=("self-train", "dann", "crossdomain-lm"), limit=10000),
        command("jia2019/4", RANDOM_START, methods=("crossdomain-lm",), limit=10000),
        *(
            command("jia2019/4", methods=("d-shift",), draws=1, seed=seed, limit=10000)
            for seed in range(3)
        ),
    ],
    "jia2019/pdaln-results.sqlite": [
        command("pdaln/1", methods=("crossdomain-lm",), draws=1, limit=10000, whole_source=True)
    ],
    "pdaln/results.sqlite": [
        *(command(f"pdaln/{table}", **MINILM) for table in ("1", "1-mean", "2", "4")),
        command("pdaln/1", FEW_STEPS, **BILSTM),
        command("pdaln/1-mean", FEW_STEPS, **BILSTM),
        command("pdaln/1", FAST, methods=("d-shift", "finetuning", "la-dtl", "datnet"), **BILSTM),
    ],
    "pdaln/rivals-minilm.sqlite": [
        command("pdaln/1", methods=("la-dtl", "datnet", "finetuning"), sizes=("100",), **MINILM)
    ],
    "transformers/rates.sqlite": [
        command("hgda/3", **RATES),
        *(
            command("hgda/3", config(f"transformers/{name}.toml"), **RATES)
            for name in ("letter-50", "letter-50-adamw", "letter-50-adamw-1000")
        ),
    ],
    "transformers/results.sqlite": [
        command("hgda/3", iterations=40, **HGDA_METHODS),
        command("hgda/3", iterations=100, **HGDA_METHODS),
        command("hgda/3", config("transformers/frozen.toml"), iterations=100, **HGDA_METHODS),
    ],
}


@pytest.fixture(params=STORES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(name: str, tmp_path: Path) -> Store:
    """A copy, with keys under today's names of settings."""
    shutil.copy(RESULTS / name, tmp_path / "results.sqlite")
    copy = Store(tmp_path / "results.sqlite")
    copy.renew_keys()
    return copy


def specs(store: Store) -> dict[str, tuple[str, dict[str, Any]]]:
    rows = store._db.execute("SELECT key, kind, spec FROM jobs")
    return {key: (kind, json.loads(spec)) for key, kind, spec in rows}


def test_keys_follow_from_specifications(name, store):
    jobs = specs(store)
    assert {Job(kind, spec).key for kind, spec in jobs.values()} == set(jobs)
    results = store.results()
    assert len(results) == STORES[name]
    for result in results:
        kind, spec = jobs[result.key]
        assert (kind, spec["base"], spec["settings"]) == ("draw", result.base_key, result.settings)
        assert result.method_version == spec["method_version"]
    for result in results:
        # they were stored before the seeds of bases and the kinds of draws were
        assert result.base_seed == jobs[result.base_key][1]["seed"]
        assert result.draws_from == "all"
    assert {r.key for r in results} | {r.base_key for r in results} <= store.done_keys()


def test_plans_of_the_documented_commands_find_every_result_of_todays_versions(
    name, store, tmp_path, monkeypatch
):
    use_stored_checksums(specs(store), tmp_path / "data", monkeypatch)
    planned = {
        job.key for number, c in enumerate(COMMANDS[name]) for job in jobs_of(c, tmp_path, number)
    }
    older = {r.key for r in store.results() if r.method_version < methods()[r.method].version}
    assert {r.key for r in store.results()} - planned == older
    # SELF-TRAIN ranked sentences by another score
    assert len(older) == (3 if name == "jia2019/results.sqlite" else 0)


def use_stored_checksums(
    jobs: dict[str, tuple[str, dict[str, Any]]], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans take checksums from the store, so that no corpus, vectors or transformer is needed."""
    bases = [spec for kind, spec in jobs.values() if kind == "base"]
    checksums = {
        place: sha for spec in bases for place, sha in (*spec["sources"], *spec["held_out"])
    }
    monkeypatch.setattr(plan_module, "checksum", lambda root, place: checksums[place])
    vectors = {spec["vectors"] for spec in bases} - {None}
    monkeypatch.setattr(plan_module, "_vectors_checksum", lambda *_: next(iter(vectors)))
    weights = {spec["encoder"] for spec in bases if "encoder" in spec}
    monkeypatch.setattr(plan_module, "weights_checksum", lambda _: next(iter(weights)))
    monkeypatch.setattr(plan_module, "torch_release", lambda: "2.13.0")
    for place in checksums:
        (data / folder_of(place)).mkdir(parents=True, exist_ok=True)


def jobs_of(asked: Command, folder: Path, number: int) -> tuple[Job, ...]:
    file = None
    if asked.settings:
        file = folder / f"{number}.toml"
        file.write_text(asked.settings, encoding="utf-8")
    protocol = protocol_of(asked.table)
    if asked.whole_source:
        protocol = with_whole_source(protocol)
    request = RunRequest(data=folder / "data", config=file, **asked.arguments)
    return plan_request(protocol, find_table(asked.table)[1], request).jobs


def with_whole_source(protocol: Protocol) -> Protocol:
    """PDALN's Table 1 as it was when its Jia2019 rows were run."""
    groups = tuple(replace(group, held_out=()) for group in protocol.groups)
    return replace(protocol, source_sentences=None, groups=groups)
