"""Shared by tests of the store. It imports little, so that processes that use it start quickly."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adaptner.reproduce.jobs.job import Job
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.run.job_queue import Claim
from adaptner.reproduce.run.store import Store

PATIENCE = 240.0  # seconds; a test that waits longer has failed even on a busy machine
ASK = "ask"


def jobs(bases: int, draws: int) -> list[Job]:
    found: list[Job] = []
    for b in range(bases):
        base = Job("base", {"number": b})
        found.append(base)
        found += [Job("draw", {"base": base.key, "number": d}, base.key) for d in range(draws)]
    return found


def result(key: str, **changes: object) -> StoredResult:
    facts = StoredResult(
        key=key,
        method="hgda",
        variant="",
        target="ncbi-disease",
        size=5,
        share=None,
        seed=0,
        f1=0.5,
        precision=0.25,
        recall=1.0,
        steps=20,
        seconds=1.5,
        iterations=600,
        base_key="b" * 8,
        base_seconds=240.0,
        peak_mb=800.0,
        sentences=940,
        limited=False,
        entities=7,
        unlabelled=0,
        protocol="few-shot/strict-micro-f1",
        profile="quick",
        data={"ncbi": "abc", "é": "def"},
        settings={"k": 10, "encoder": {"hidden": 128}},
        code="0.1.0+abc",
        finished="2026-11-17T12:00:00+00:00",
    )
    return replace(facts, **changes)


def finish(store: Store, claim: Claim) -> None:
    made = result(claim.key) if claim.kind == "draw" else None
    store.finish(claim.key, 1.0, {"seconds": 2.0}, made)


def until(condition: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"timeout while waiting for {what}"
        time.sleep(0.05)
