"""A table as a grid of jobs: bases, and draws that adapt them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from itertools import product
from pathlib import Path

from adaptner.errors import AdaptnerError, FileMissing
from adaptner.files import digest
from adaptner.methods import methods
from adaptner.methods.base import Method
from adaptner.methods.families.unadapted import UnadaptedMethod
from adaptner.nn.encoders.transformer.pretrained import find_folder, weight_files
from adaptner.reproduce.jobs.data import Known, checksum
from adaptner.reproduce.jobs.job import DataPaths, Job, Spec
from adaptner.reproduce.tables.profiles import Profile
from adaptner.reproduce.tables.protocol import BERT, Protocol, TargetCorpus, TargetGroup, folder_of
from adaptner.reproduce.tables.settings import learner_of, method_for_cell


@dataclass(frozen=True)
class Selection:
    """What part of a table is asked for."""

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
    checksums: dict[str, str]  # corpus -> of its files
    skipped: dict[str, str] = field(default_factory=dict)  # what is asked for and cannot run: why

    @property
    def bases(self) -> tuple[Job, ...]:
        return tuple(job for job in self.jobs if job.kind == "base")

    @property
    def draws(self) -> tuple[Job, ...]:
        return tuple(job for job in self.jobs if job.kind == "draw")


def plan_jobs(
    protocol: Protocol, profile: Profile, selection: Selection, places: DataPaths, code: str
) -> JobPlan:
    """Jobs in the order in which they are best done. A target whose data is missing is skipped with
    the reason; if that leaves none, it is an error."""
    encoder = selection.encoder
    vectors = _vectors_checksum(protocol, places) if encoder is None else None
    weights = {} if encoder is None else {"encoder": weights_checksum(encoder)}
    sums = _Checksums(places.data)
    jobs: dict[str, Job] = {}
    skipped: dict[str, str] = {}
    missing: AdaptnerError | None = None
    wanted = set(selection.targets)
    for group in protocol.groups:
        if not (targets := [t for t in group.targets if t in wanted]):
            continue
        try:
            sources = [sums.known(place) for place in group.sources]
            held_out = [sums.known(t.corpus) for t in group.held_out or group.targets]
        except AdaptnerError as error:
            missing = error
            skipped |= {t.name: str(error).splitlines()[0] for t in targets}
            continue
        common = {"sources": sources, "held_out": held_out, "code": code, **weights}
        for name in selection.methods:
            if reason := _unfit(name, protocol):
                skipped[name] = reason
                continue
            for job in _method_jobs(
                name, protocol, profile, selection, group, targets, {**common, "vectors": vectors}
            ):
                jobs.setdefault(job.key, job)
    if missing is not None and not jobs:
        raise missing
    return JobPlan(protocol, profile, selection, tuple(jobs.values()), sums.found, skipped)


def _method_jobs(
    name: str,
    protocol: Protocol,
    profile: Profile,
    selection: Selection,
    group: TargetGroup,
    targets: Sequence[TargetCorpus],
    common: Spec,
) -> list[Job]:
    jobs: list[Job] = []
    # A corpus may be too small for the table's sizes; who names sizes has those.
    usual = tuple(selection.sizes) == protocol.sizes
    sizes = group.sizes if group.sizes and usual else selection.sizes
    cells: list[tuple[int | None, float | None]] = [
        *((size, None) for size in sizes),
        *((None, share) for share in selection.shares),
    ]
    if protocol.hardness:
        cells = [(None, None)]
    variants = ("", *protocol.variants.get(name, ()))
    encoder = "" if selection.encoder is None else BERT
    cut: Spec = {}
    if protocol.source_sentences is not None and not profile.recipes:
        cut = {"source_sentences": protocol.source_sentences}
    for variant, (size, share) in product(variants, cells):
        if not _has_cell(name, variant, size, sizes):
            continue
        own = group.own.get(name)
        chosen = method_for_cell(name, protocol, profile, size, variant, own, selection.encoder)
        learner = learner_of(chosen)

        def base_of(seed: int, learner: Method = learner) -> Job:
            told = learner.config.model_dump(mode="json", exclude={"adaptation"})
            iterations = profile.iterations if getattr(learner, "learns", True) else 0
            made = {"learner": learner.name, "settings": told, "iterations": iterations}
            return Job("base", {**common, **cut, **made, "seed": seed})

        if protocol.hardness:
            jobs.append(base_of(profile.seed))
            continue
        held = dict(common["held_out"])
        # What a draw depends on beside its base; joint methods read the sources again.
        again = {n: common[n] for n in ("sources", "held_out")} | cut if chosen.joint else {}
        seeds = _seeds(chosen, profile, bool(cut))
        bases = {seed: base_of(seed if cut else profile.seed) for seed in seeds}
        jobs += bases.values()
        for target in targets:
            for seed, base in bases.items():
                spec = {
                    **again,
                    "base": base.key,
                    "vectors": common["vectors"],
                    "method": name,
                    "variant": f"{encoder} {variant}".strip(),
                    "settings": chosen.config.model_dump(mode="json"),
                    "target": (target.corpus, held[target.corpus]),
                    "size": size,
                    "share": share,
                    "seed": seed,
                    "limit": profile.limit,
                    "code": common["code"],
                }
                jobs.append(Job("draw", spec, base.key))
    return jobs


def _has_cell(name: str, variant: str, size: int | None, sizes: Sequence[int]) -> bool:
    """Whether a method is run at a size in a table with and without labels. Without them, it is run if
    it can, and as it is: variants are of learning with them. One that never learns from the target is
    run without."""
    kind = methods()[name]
    if size == 0:
        return kind.zero_shot and not (variant and any(sizes))
    return not (0 in sizes and issubclass(kind, UnadaptedMethod))


def _seeds(chosen: object, profile: Profile, base_a_draw: bool) -> range:
    # A method that uses no sentence of the target gives the same for every draw from one base.
    draws = 1 if isinstance(chosen, UnadaptedMethod) and not base_a_draw else profile.draws
    return range(profile.seed, profile.seed + draws)


def _unfit(name: str, protocol: Protocol) -> str:
    shared = protocol.settings.get("decoders") == "shared"
    if methods()[name].supports == UnadaptedMethod.supports and not shared:
        return "it uses the base as it is, and the sources have other labels than the targets"
    if protocol.sizes == (0,) and not methods()[name].zero_shot:
        return "it needs labelled sentences of the target, and this table has none"
    return ""


class _Checksums:
    """Each corpus is read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.found: dict[str, str] = {}

    def known(self, place: str) -> Known:
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
    """Of the network and of the library that runs it."""
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
