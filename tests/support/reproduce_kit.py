"""A table that runs in seconds: the package's own corpora, a tiny encoder, few iterations."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiny import TINY_ENCODER

import adaptner.corpora
from adaptner.compute import prepare_process
from adaptner.reproduce.jobs.plan import JobPlan
from adaptner.reproduce.run.request import RunRequest, plan_request
from adaptner.reproduce.run.runner import RunSummary, run
from adaptner.reproduce.tables.protocol import Protocol, TargetCorpus, TargetGroup, find_table
from adaptner.reproduce.tables.protocols import protocol_of

prepare_process()  # one thread, as in the workers
OWN = Path(adaptner.corpora.__file__).parent / "bundled"
TABLE = find_table("hgda/3")[1]

SMALL: dict[str, Any] = {
    "k": 4,
    "tasks": 2,
    "record_every": 2,
    "encoder": TINY_ENCODER,
    "adaptation": {"steps": 10, "epochs": 0, "optimiser": {"rate": 5e-3}},
}
TINY = Protocol(
    "hgda/3",
    (
        TargetGroup("CellLine", (TargetCorpus("cellline", "NCBI"),), ("disease", "drug")),
        TargetGroup(
            "Gene",
            (TargetCorpus("gene", "JNLPBA"), TargetCorpus("species", "S800")),
            ("disease", "drug"),
        ),
    ),
    sizes=(5,),
    settings=SMALL,
)
ONE = replace(TINY, groups=TINY.groups[:1])


def request(output: Path, **changes: Any) -> RunRequest:
    options: dict[str, Any] = {
        "data": OWN,
        "output": output,
        "methods": ("hgda", "maml"),
        "draws": 2,
        "iterations": 4,
        "limit": 15,
        "jobs": 1,
    }
    return RunRequest(**{**options, **changes})


def ran(protocol: Protocol, requested: RunRequest) -> tuple[RunSummary, list[str]]:
    """Runs a request; returns the summary and the messages."""
    messages: list[str] = []
    return run(protocol, TABLE, requested, messages.append, quiet=True), messages


def copied_data(folder: Path) -> Path:
    shutil.copytree(OWN, folder / "data", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "data"


def planned(name: str, root: Path, **changes: object) -> JobPlan:
    requested = RunRequest(data=root / "data", **changes)
    return plan_request(protocol_of(name), find_table(name)[1], requested)
