"""Keys of stored jobs under today's names of settings.

Settings are part of a job's key, so that renaming or adding one would orphan stored results. A stored
specification is therefore renewed: settings get their names of today, and one that did not exist yet
gets its default. (A default that changes results comes with a new version of the method, which the
specification of an old job does not have.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from adaptner.errors import AdaptnerError
from adaptner.methods import method
from adaptner.models.renamed_fields import current_settings
from adaptner.reproduce.jobs.job import Job, Kind, Spec


@dataclass(frozen=True)
class RenewedJob:
    old_key: str
    job: Job


def renewed_jobs(stored: Iterable[tuple[str, Kind, Spec]]) -> list[RenewedJob]:
    """The jobs whose keys change. A specification that is not valid any more stays unchanged."""
    renewed: dict[str, RenewedJob] = {}
    for key, kind, spec in sorted(stored, key=lambda job: job[1] == "draw"):  # bases first
        new = {**spec, "settings": _renewed_settings(kind, spec)}
        base = None
        if kind == "draw":
            base = renewed[spec["base"]].job.key if spec["base"] in renewed else spec["base"]
            new["base"] = base
        job = Job(kind, new, base)
        if new != spec:
            renewed[key] = RenewedJob(key, job)
    return list(renewed.values())


def _renewed_settings(kind: Kind, spec: Spec) -> dict[str, Any]:
    name = spec["method" if kind == "draw" else "learner"]
    try:
        config = method(name)(**current_settings(name, spec["settings"])).config
    except AdaptnerError:  # a method or a setting that no longer exists
        return dict(spec["settings"])
    return config.model_dump(mode="json", exclude=None if kind == "draw" else {"adaptation"})
