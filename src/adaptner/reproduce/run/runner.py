"""From a table's name to its report: plan, run what is not there yet, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from adaptner.errors import (
    BadConfiguration,
    FileMissing,
    JobsFailed,
    OutputExists,
    UnknownName,
    UsageError,
    did_you_mean,
)
from adaptner.methods import method as find_method
from adaptner.methods.configuration import read_settings
from adaptner.models.storage import MANIFEST
from adaptner.reproduce.jobs.job import DataPaths
from adaptner.reproduce.jobs.plan import JobPlan, Selection, plan_jobs
from adaptner.reproduce.run.display import ProgressDisplay
from adaptner.reproduce.run.local import run_local
from adaptner.reproduce.run.store import STORE, Failure, Store
from adaptner.reproduce.tables.profiles import Profile, profile_of
from adaptner.reproduce.tables.protocol import Protocol, TargetCorpus, fillings
from adaptner.reproduce.tables.published import PublishedTable

Tell = Callable[[str], None]


@dataclass(frozen=True)
class RunRequest:
    """What the user asked for; empty and None mean: as the table and the profile have it."""

    data: Path = Path("data")
    vectors: Path | None = None
    output: Path = Path("reproduced")
    profile: str = "quick"
    methods: Sequence[str] = ()
    targets: Sequence[str] = ()
    sizes: Sequence[str] = ()
    draws: int | None = None
    iterations: int | None = None
    limit: int | None = None
    seed: int | None = None
    jobs: int = 1
    ray: str | None = None
    encoder: str | None = None
    config: Path | None = None  # settings of every method, on top of the table's
    command: str = ""


@dataclass(frozen=True)
class RunSummary:
    """What a run came to."""

    plan: JobPlan
    done: int
    computed: int  # in this run
    failures: list[Failure] = field(default_factory=list)
    blocked: int = 0


def prepared(protocol: Protocol, table: PublishedTable, request: RunRequest) -> JobPlan:
    """The plan for a request, refused before any work if something in it is not there."""
    places = places_of(protocol, request)
    profile = _profile(protocol, request)
    sizes, shares = _sizes(request.sizes, protocol)
    selection = Selection(
        _methods(request, protocol, table),
        _targets(request.targets, protocol),
        sizes,
        shares,
        _encoder(request.encoder),
    )
    try:
        return plan_jobs(protocol, profile, selection, places)
    except BadConfiguration as error:  # by a setting of the user's file, or by one of ours
        if str(error.facts["field"]).partition(".")[0] in profile.settings:
            raise BadConfiguration(file=request.config, line=None, **error.facts) from error
        raise


def run(
    protocol: Protocol, table: PublishedTable, request: RunRequest, tell: Tell, quiet: bool = False
) -> RunSummary:
    """Do what is left to do. Jobs that fail are in ``Ended.failures``, and the rest is done."""
    wanted = prepared(protocol, table, request)
    places = places_of(protocol, request)
    output = request.output.absolute()
    if output.exists() and not output.is_dir():
        raise OutputExists(file=output, kind="a folder")
    run_id = ask_of(wanted)
    with Store(output / STORE) as store:
        for name, old in store.changed_corpora(wanted.checksums).items():
            new = wanted.checksums[name]
            tell(
                f"{name} has changed since the last run ({old[:12]} -> {new[:12]}): what was "
                "computed from it is computed anew"
            )
        store.submit(run_id, protocol.table, wanted.profile.name, wanted.jobs)
        _reopen_lost_bases(store, wanted, run_id, output)
        before = store.progress(run_id)
        if before.done:
            tell(f"{before.done} of {before.total} jobs are there already")
    with ProgressDisplay(wanted, run_id, places.data, request.jobs, quiet) as display:
        if request.ray is not None:
            from adaptner.reproduce.run.ray_workers import run_on_ray

            run_on_ray(output, run_id, places, request.ray, display.look)
        else:
            run_local(output, run_id, places, request.jobs, display.look)
    with Store(output / STORE) as store:
        after = store.progress(run_id)
        failures = store.failures(run_id)
    return RunSummary(wanted, after.done, after.done - before.done, failures, after.blocked)


def looked_up(protocol: Protocol, table: PublishedTable, request: RunRequest) -> RunSummary:
    """What is there of a request, with nothing computed."""
    wanted = prepared(protocol, table, request)
    with Store(request.output / STORE, make=False) as store:
        done = len(store.done_keys() & {job.key for job in wanted.jobs})
    return RunSummary(wanted, done, 0)


def ask_of(wanted: JobPlan) -> str:
    """The same for the same jobs of the same table, so that asking twice is asking once."""
    state = sha256(f"{wanted.protocol.table} {wanted.profile.name}\n".encode())
    for job in wanted.jobs:
        state.update(job.key.encode())
    return state.hexdigest()[:20]


def raise_failures(ended: RunSummary) -> None:
    if ended.failures:
        first = ended.failures[0]
        raise JobsFailed(
            failed=len(ended.failures),
            waiting=f", {ended.blocked} more wait for a base among them" if ended.blocked else "",
            total=len(ended.plan.jobs),
            first=first.error or "no reason known",
            log=first.log or "nowhere",
        )


def places_of(protocol: Protocol, request: RunRequest) -> DataPaths:
    data = request.data.absolute()
    if protocol.groups and not data.is_dir():
        raise FileMissing(
            file=request.data,
            hint="--data is the folder of the corpora; `adaptner corpora list` says where each "
            "comes from",
        )
    if protocol.vectors is None:
        return DataPaths(data)
    given = (request.vectors or data.parent / "vectors").absolute()
    return DataPaths(
        data, given / protocol.vectors if given.is_dir() or not given.is_file() else given
    )


def _profile(protocol: Protocol, request: RunRequest) -> Profile:
    profile = profile_of(request.profile)
    if profile.name == "quick":
        profile = profile.changed(draws=protocol.quick_draws)
    return profile.changed(
        draws=request.draws,
        iterations=request.iterations,
        limit=request.limit,
        seed=request.seed,
        settings=None if request.config is None else read_settings(request.config),
    )


def _encoder(given: str | None) -> str | None:
    """A folder as the workers find it, wherever they are started."""
    if given is not None and Path(given).is_dir():
        return str(Path(given).absolute())
    return given


def _methods(request: RunRequest, protocol: Protocol, table: PublishedTable) -> list[str]:
    given, encoder = request.methods, request.encoder
    if protocol.reason:
        return []
    if encoder is not None and not protocol.transformers:
        raise UsageError(
            problem=f"--encoder: no row of {protocol.table} that we fill has a transformer",
            remedy="leave out --encoder; `adaptner reproduce --list` says what fills a table",
        )
    filled = [str(f.method) for f in fillings(protocol, table) if f.is_run(encoder)]
    for name in given:
        find_method(name)  # an unknown one is refused with the nearest
    if protocol.hardness:
        return ["hgda"]
    extra = protocol.extra if encoder is None else ()
    return list(dict.fromkeys(given or (*filled, *extra)))


def _targets(given: Sequence[str], protocol: Protocol) -> list[TargetCorpus]:
    """By our name, its place in the data folder, or the paper's column."""
    known = {
        spelled.lower(): target
        for target in protocol.targets
        for spelled in (target.column or target.name, target.name, target.corpus)
    }
    for name in given:
        if name.lower() not in known:
            names = [t.name for t in protocol.targets]
            near = did_you_mean(name.lower(), list(known))
            raise UnknownName(
                kind=f"corpus of {protocol.table}", name=name, near=near, known=", ".join(names)
            )
    chosen = {known[name.lower()] for name in given} or set(protocol.targets)
    return [target for target in protocol.targets if target in chosen]


def _sizes(given: Sequence[str], protocol: Protocol) -> tuple[list[int], list[float]]:
    """``20`` is a number of sentences, ``20%`` a share of the train split."""
    if not given:
        return list(protocol.sizes), list(protocol.shares)
    sizes: list[int] = []
    shares: list[float] = []
    for text in (part for value in given for part in value.split(",") if part):
        try:
            if text.endswith("%"):
                shares.append(float(text[:-1]))
            else:
                sizes.append(int(text))
        except ValueError:
            sizes.append(0)
        good = all(size >= 1 for size in sizes) and all(0 < share <= 100 for share in shares)
        if not good:
            raise UsageError(
                problem=f"--sizes: {text!r} is neither a number of sentences nor a share of them",
                remedy="write for example --sizes 5 20 50, or --sizes 10% 100%",
            )
    return list(dict.fromkeys(sizes)), list(dict.fromkeys(shares))


def _reopen_lost_bases(store: Store, wanted: JobPlan, run_id: str, output: Path) -> None:
    """Somebody removed the folder of a base that draws still need."""
    states = store.states(run_id)
    needed = {job.base for job in wanted.draws if states[job.key][0] != "done"}
    for key in needed:
        if key is not None and states[key][0] == "done":
            folder = output / "bases" / key
            if not (folder / MANIFEST).is_file():
                store.reopen(key)


def hardness_records(output: Path, wanted: JobPlan) -> list[dict[str, Any]]:
    """What HGDA's bases wrote of their tasks, each with its base's key."""
    from adaptner.training.loop import HARDNESS
    from adaptner.training.records import read_metrics

    return [
        {**record, "run": job.key[:12]}
        for job in wanted.bases
        if job.spec["learner"] == "hgda"
        for record in read_metrics(output / "bases" / job.key / HARDNESS)
    ]
