"""From a table's protocol to jobs: which bases to train, which draws to adapt them to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from itertools import product
from pathlib import Path

from adaptner.episodes import check_draws
from adaptner.errors import AdaptnerError, FileMissing, UsageError
from adaptner.evaluation.protocol import PROTOCOL, PROTOCOL_VERSION, protocol_name
from adaptner.files import digest
from adaptner.methods import methods
from adaptner.methods.base import Method
from adaptner.nn.encoders.transformer.pretrained import find_folder, weight_files
from adaptner.reproduce.jobs.code_fingerprint import torch_release
from adaptner.reproduce.jobs.data import PlannedCorpus, checksum
from adaptner.reproduce.jobs.job import DataPaths, Job, Spec
from adaptner.reproduce.tables.profiles import Profile
from adaptner.reproduce.tables.protocol import BERT, Protocol, TargetCorpus, TargetGroup, folder_of
from adaptner.reproduce.tables.settings import learner_of, method_for_cell

Cell = tuple[int | None, float | None]  # number of labelled sentences, or share in percent
# The seeds of adaptation of a method without a trained base are this far apart from base to base.
NOISE_STEP = 1000


@dataclass(frozen=True)
class Selection:
    """The part of a table to run."""

    methods: Sequence[str]
    targets: Sequence[TargetCorpus]
    sizes: Sequence[int] = ()
    shares: Sequence[float] = ()
    encoder: str | None = None  # a transformer, for the rows that have one


@dataclass(frozen=True)
class JobPlan:
    protocol: Protocol
    profile: Profile
    selection: Selection
    jobs: tuple[Job, ...]
    checksums: dict[str, str]  # by corpus
    skipped: dict[str, str] = field(default_factory=dict)  # method or target -> why it cannot run

    @property
    def bases(self) -> tuple[Job, ...]:
        return tuple(job for job in self.jobs if job.kind == "base")

    @property
    def draws(self) -> tuple[Job, ...]:
        return tuple(job for job in self.jobs if job.kind == "draw")


def plan_jobs(
    protocol: Protocol, profile: Profile, selection: Selection, places: DataPaths
) -> JobPlan:
    """Returns the jobs in a good order. Targets with missing data are skipped with the reason.

    Raises ``FileMissing`` if no target is left, or if the protocol's vectors are missing, and
    ``UsageError`` if draws or bases cannot be as the profile has them."""
    if profile.bases > 1 and protocol.source_sentences is not None and not profile.recipes:
        raise UsageError(
            problem=f"--bases {profile.bases}: in {protocol.table}, each draw has a base of its own",
            remedy="leave out --bases; --draws N draws and trains N times",
        )
    shared: Spec = {
        "protocol": PROTOCOL,
        "protocol_version": PROTOCOL_VERSION,
        "torch": torch_release(),
        "vectors": _vectors_checksum(protocol, places) if selection.encoder is None else None,
    }
    if selection.encoder is not None:
        shared["encoder"] = weights_checksum(selection.encoder)
    sums = _Checksums(places.data)
    jobs: dict[str, Job] = {}
    skipped: dict[str, str] = {}
    missing: AdaptnerError | None = None
    chosen = set(selection.targets)
    for group in protocol.groups:
        if not (targets := [t for t in group.targets if t in chosen]):
            continue
        try:
            sources = [sums.planned(place) for place in group.sources]
            held_out = [sums.planned(t.corpus) for t in group.held_out or group.targets]
        except AdaptnerError as error:
            missing = error
            skipped |= {t.name: str(error).splitlines()[0] for t in targets}
            continue
        inputs = {**shared, "sources": sources, "held_out": held_out}
        planner = _GroupPlanner(protocol, profile, selection, group, targets, inputs)
        for name in selection.methods:
            if reason := _why_not(name, protocol):
                skipped[name] = reason
                continue
            for job in planner.jobs(name):
                jobs.setdefault(job.key, job)
    if missing is not None and not jobs:
        raise missing
    return JobPlan(protocol, profile, selection, tuple(jobs.values()), sums.found, skipped)


@dataclass(frozen=True)
class _GroupPlanner:
    """Plans the jobs of one group of targets. ``inputs`` are the parts of a specification that all
    jobs of the group share."""

    protocol: Protocol
    profile: Profile
    selection: Selection
    group: TargetGroup
    targets: Sequence[TargetCorpus]
    inputs: Spec

    def jobs(self, name: str) -> Iterator[Job]:
        variants = ("", *self.protocol.variants.get(name, ()))
        cells = [(None, None)] if self.protocol.hardness else self._cells()
        for variant, (size, share) in product(variants, cells):
            if not self._has_cell(name, variant, size):
                continue
            method = method_for_cell(
                name,
                self.protocol,
                self.profile,
                size,
                variant,
                self.group.settings_by_method.get(name),
                self.selection.encoder,
            )
            if self.protocol.hardness:
                yield self._base(method, self.profile.seed)
            else:
                yield from self._jobs_of_cell(method, variant, (size, share))

    def _jobs_of_cell(self, method: Method, variant: str, cell: Cell) -> Iterator[Job]:
        size, share = cell
        sizes, shares = [] if size is None else [size], [] if share is None else [share]
        check_draws(self.profile.draws_from, sizes, shares)
        seeds = self._seeds(method)
        if self._source_cut:  # each draw has its own base
            runs = [(seed, self._base(method, seed), 0) for seed in seeds]
        else:
            runs = [
                (seed, self._base(method, self.profile.seed + number), number)
                for number in range(self.profile.bases)
                for seed in seeds
            ]
        yield from (base for _, base, _ in runs)
        for target in self.targets:
            for seed, base, number in runs:
                yield self._draw(method, variant, target, cell, seed, base.key, number)

    def _base(self, method: Method, seed: int) -> Job:
        learner = learner_of(method)
        spec = {
            **self.inputs,
            **self._source_cut,
            "learner": learner.name,
            "method_version": learner.version,
            "settings": learner.config.model_dump(mode="json", exclude={"adaptation"}),
            "iterations": self.profile.iterations if learner.trains_base else 0,
            "seed": seed,
        }
        return Job("base", spec)

    def _draw(
        self,
        method: Method,
        variant: str,
        target: TargetCorpus,
        cell: Cell,
        seed: int,
        base: str,
        number: int,
    ) -> Job:
        """``number`` counts the bases that are crossed with all draws. Where bases are not trained,
        other noise of adaptation takes the place of other bases, so that deviations compare."""
        names = ["protocol", "protocol_version", "torch", "vectors"]
        if method.capabilities.reads_sources:  # it reads the sources again
            names += ["sources", "held_out"]
        encoder = "" if self.selection.encoder is None else BERT
        learner = learner_of(method)
        spec = {
            **{name: self.inputs[name] for name in names},
            **(self._source_cut if method.capabilities.reads_sources else {}),
            **self._kind_of_draw,
            **({"noise": NOISE_STEP * number} if number and not learner.trains_base else {}),
            "base": base,
            "method": method.name,
            "method_version": method.version,
            "variant": f"{encoder} {variant}".strip(),
            "settings": method.config.model_dump(mode="json"),
            "target": (target.corpus, dict(self.inputs["held_out"])[target.corpus]),
            "size": cell[0],
            "share": cell[1],
            "seed": seed,
            "limit": self.profile.limit,
        }
        return Job("draw", spec, base)

    @property
    def _kind_of_draw(self) -> Spec:
        """What the specification of a draw that is not from all sentences has besides."""
        kind = self.profile.draws_from
        return {} if kind == "all" else {"protocol": protocol_name(kind), "draws_from": kind}

    @property
    def _source_cut(self) -> Spec:
        """The sample of the sources that each draw has for itself, if the protocol asks for one."""
        if self.protocol.source_sentences is None or self.profile.recipes:
            return {}
        return {"source_sentences": self.protocol.source_sentences}

    @property
    def _sizes(self) -> Sequence[int]:
        """A group may have other sizes than its table, unless the user named sizes."""
        if self.group.sizes and tuple(self.selection.sizes) == self.protocol.sizes:
            return self.group.sizes
        return self.selection.sizes

    def _cells(self) -> list[Cell]:
        sizes: list[Cell] = [(size, None) for size in self._sizes]
        return sizes + [(None, share) for share in self.selection.shares]

    def _has_cell(self, name: str, variant: str, size: int | None) -> bool:
        """Variants are about learning from labels, so that zero-shot cells (size 0) have none where
        the table has other sizes. A method that never reads target sentences has zero-shot cells only,
        where there are any."""
        kind = methods()[name]
        if size == 0:
            return kind.capabilities.zero_shot and not (variant and any(self._sizes))
        return kind.capabilities.adapts or 0 not in self._sizes

    def _seeds(self, method: Method) -> range:
        """A method that reads no target sentence has one draw for each base."""
        once = not method.capabilities.adapts and not self._source_cut
        return range(self.profile.seed, self.profile.seed + (1 if once else self.profile.draws))


def _why_not(name: str, protocol: Protocol) -> str:
    shared = protocol.settings.get("decoders") == "shared"
    if not methods()[name].capabilities.new_labels and not shared:
        return "it uses the base unchanged, and the sources have other labels than the targets"
    if protocol.sizes == (0,) and not methods()[name].capabilities.zero_shot:
        return "it needs labelled sentences of the target, and this table has none"
    return ""


class _Checksums:
    """Checksums of corpora, each computed once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.found: dict[str, str] = {}

    def planned(self, place: str) -> PlannedCorpus:
        if place not in self.found:
            folder = self._root / folder_of(place)
            if not folder.is_dir():
                raise FileMissing(
                    file=folder,
                    hint="`adaptner corpora list` says where each corpus comes from",
                )
            self.found[place] = checksum(self._root, place)
        return place, self.found[place]


def weights_checksum(encoder: str) -> str:
    """Identifies a transformer's weights and the version of the library that runs it."""
    sums = "".join(map(digest, weight_files(find_folder(encoder))))
    return f"{sha256(sums.encode()).hexdigest()} transformers-{version('transformers')}"


def _vectors_checksum(protocol: Protocol, places: DataPaths) -> str | None:
    if protocol.vectors is None:
        return None
    path = places.vectors
    if path is None or not path.is_file():
        raise FileMissing(
            file=path or protocol.vectors,
            hint="--vectors is a folder with that file, or a file of word vectors to use instead",
        )
    sums = [digest(path)]
    if (vocabulary := path.with_suffix(".vocab.txt")).is_file():
        sums.append(digest(vocabulary))
    return sha256(" ".join(sums).encode()).hexdigest()
