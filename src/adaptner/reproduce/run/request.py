"""What a user asks a run for, checked and turned into a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adaptner.episodes import check_draws
from adaptner.errors import BadConfiguration, FileMissing, UnknownName, UsageError, did_you_mean
from adaptner.methods import method as find_method
from adaptner.methods.configuration import read_settings
from adaptner.reproduce.jobs.job import DataPaths
from adaptner.reproduce.jobs.plan import JobPlan, Selection, plan_jobs
from adaptner.reproduce.tables.profiles import Profile, profile_of
from adaptner.reproduce.tables.protocol import Protocol, TargetCorpus, fillings
from adaptner.reproduce.tables.published import PublishedTable


@dataclass(frozen=True)
class RunRequest:
    """Empty and None stand for the default of the table or the profile."""

    data: Path = Path("data")
    vectors: Path | None = None
    output: Path = Path("reproduced")
    profile: str = "quick"
    methods: Sequence[str] = ()
    targets: Sequence[str] = ()
    sizes: Sequence[str] = ()
    draws: int | None = None
    draws_from: str = "all"
    bases: int | None = None
    iterations: int | None = None
    limit: int | None = None
    seed: int | None = None
    jobs: int = 1
    ray: str | None = None
    device: str = "auto"  # of local workers; Ray nodes compute on the CPU
    encoder: str | None = None
    config: Path | None = None  # settings of every method, on top of the table's
    command: str = ""


def plan_request(protocol: Protocol, table: PublishedTable, request: RunRequest) -> JobPlan:
    """Raises an error before any work if something in the request does not exist."""
    places = data_paths(protocol, request)
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


def data_paths(protocol: Protocol, request: RunRequest) -> DataPaths:
    data = request.data.absolute()
    if protocol.groups and not data.is_dir():
        raise FileMissing(
            file=request.data,
            hint="--data is the folder of the corpora; `adaptner corpora list` says where each "
            "comes from",
        )
    if protocol.vectors is None:
        return DataPaths(data, device=request.device)
    vectors = (request.vectors or data.parent / "vectors").absolute()
    vectors = vectors if vectors.is_file() else vectors / protocol.vectors
    return DataPaths(data, vectors, request.device)


def _profile(protocol: Protocol, request: RunRequest) -> Profile:
    profile = profile_of(request.profile)
    if profile.name == "quick":
        profile = profile.changed(draws=protocol.quick_draws)
    return profile.changed(
        draws=request.draws,
        draws_from=check_draws(request.draws_from, ()),
        bases=protocol.bases if request.bases is None else request.bases,
        iterations=request.iterations,
        limit=request.limit,
        seed=request.seed,
        settings=None if request.config is None else read_settings(request.config),
    )


def _encoder(name: str | None) -> str | None:
    """The path of a folder is made absolute, because workers may start in another folder."""
    if name is not None and Path(name).is_dir():
        return str(Path(name).absolute())
    return name


def _methods(request: RunRequest, protocol: Protocol, table: PublishedTable) -> list[str]:
    encoder = request.encoder
    if protocol.reason:
        return []
    if encoder is not None and not protocol.transformers:
        raise UsageError(
            problem=f"--encoder: {protocol.table} has no row with a transformer that we can fill",
            remedy="leave out --encoder; `adaptner reproduce --list` says what fills a table",
        )
    filled = [str(f.method) for f in fillings(protocol, table) if f.is_run(encoder)]
    for name in request.methods:
        find_method(name)  # raises UnknownName
    if protocol.hardness:
        return ["hgda"]
    extra = protocol.extra if encoder is None else ()
    return list(dict.fromkeys(request.methods or (*filled, *extra)))


def _targets(names: Sequence[str], protocol: Protocol) -> list[TargetCorpus]:
    """``names`` are our names, places in the data folder, or the paper's columns."""
    known = {
        spelling.lower(): target
        for target in protocol.targets
        for spelling in (target.column or target.name, target.name, target.corpus)
    }
    for name in names:
        if name.lower() not in known:
            raise UnknownName(
                kind=f"corpus of {protocol.table}",
                name=name,
                near=did_you_mean(name.lower(), list(known)),
                known=", ".join(t.name for t in protocol.targets),
            )
    chosen = {known[name.lower()] for name in names} or set(protocol.targets)
    return [target for target in protocol.targets if target in chosen]


def _sizes(texts: Sequence[str], protocol: Protocol) -> tuple[list[int], list[float]]:
    """``20`` is a number of sentences, ``20%`` a share of the train split."""
    if not texts:
        return list(protocol.sizes), list(protocol.shares)
    sizes: list[int] = []
    shares: list[float] = []
    for text in (part for value in texts for part in value.split(",") if part):
        try:
            if text.endswith("%"):
                shares.append(float(text[:-1]))
            else:
                sizes.append(int(text))
        except ValueError:
            sizes.append(0)
        if not (all(size >= 1 for size in sizes) and all(0 < share <= 100 for share in shares)):
            raise UsageError(
                problem=f"--sizes: {text!r} is neither a number of sentences nor a share of them",
                remedy="write for example --sizes 5 20 50, or --sizes 10% 100%",
            )
    return list(dict.fromkeys(sizes)), list(dict.fromkeys(shares))
