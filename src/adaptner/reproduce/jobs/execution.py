"""Computing one job: a base from its sources, or one draw from its base.

What is expensive to read (corpora, sources, a base) stays in the worker's memory for the next job.
"""

from __future__ import annotations

import datetime
import json
import math
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from safetensors import safe_open

from adaptner.corpora.corpus import Corpus, group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.errors import RunNotResumable
from adaptner.evaluation.protocol import evaluate_few_shot
from adaptner.files import atomic_file
from adaptner.methods import method
from adaptner.models.base import Base
from adaptner.models.storage import MANIFEST
from adaptner.models.vocabulary_files import vector_files
from adaptner.pretraining.from_sources import CARD, model_card
from adaptner.progress import ProgressCallback, no_progress
from adaptner.reproduce.jobs.code_version import code_version
from adaptner.reproduce.jobs.data import Known, as_source, as_target
from adaptner.reproduce.jobs.job import DataPaths, Spec
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.training import checkpoint
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.vectors.word_vectors import WordVectors, read_vectors, write_vectors

BaseFacts = dict[str, Any]
COST = (
    "cost.json"  # beside a base: what it took; not in it, since the same run gives the same bytes
)

CHECKPOINT_SECONDS = 30.0

Value = TypeVar("Value")


class JobExecutor:
    """A worker's memory and its folders: ``output/bases/KEY`` holds the run and the base."""

    def __init__(self, places: DataPaths, output: Path) -> None:
        self.places = places
        self.output = output
        self._code = code_version()
        self._targets = _Last[Corpus](2)
        self._sources = _Last[list[SourceDomain]](1)
        self._bases = _Last[Base](1)
        self._vectors = _Last[WordVectors](1)

    def base_folder(self, key: str) -> Path:
        return self.output / "bases" / key

    @property
    def at_hand(self) -> str | None:
        """The key of the base in memory."""
        return next(iter(self._bases.held), None)

    def learn(self, key: str, spec: Spec, progress: ProgressCallback = no_progress) -> BaseFacts:
        """Train, or go on from the last checkpoint, and save."""
        folder = self.base_folder(key)
        if (folder / MANIFEST).is_file():  # a worker saved it and died before it said so
            base = self._base(key)
        else:
            base = self._fitted(key, spec, progress)
            with atomic_file(folder / COST) as file:
                json.dump({"seconds": _seconds_of(folder), "peak_mb": _peak_mb()}, file)
            base.folder = self.vector_folder(spec["vectors"])
            base.save(folder)
            with atomic_file(folder / CARD) as file:
                file.write(model_card(base, method(base.method)()))
            (folder / checkpoint.FILE).unlink(missing_ok=True)
            base.folder = folder
            self._bases.keep(key, base)
        return {
            **json.loads((folder / COST).read_text()),
            "iterations": base.facts["iterations"],
            "removed": sum(s["removed"] for s in base.facts["sources"]),
        }

    def _fitted(self, key: str, spec: Spec, progress: ProgressCallback) -> Base:
        learner = method(spec["learner"])(**spec["settings"])
        run = TrainingRun(self.base_folder(key), key, spec, True, CHECKPOINT_SECONDS, progress)
        given = {"vectors": self._word_vectors(spec["vectors"]), "seed": spec["seed"], "run": run}
        sources, budget = self._source_domains(spec), Budget(spec["iterations"])
        try:
            return learner.fit(sources, budget, **given)
        except RunNotResumable:  # a damaged checkpoint: start afresh
            (self.base_folder(key) / checkpoint.FILE).unlink(missing_ok=True)
            return learner.fit(sources, budget, **given)

    def draw(self, key: str, spec: Spec, profile: str, base_outcome: BaseFacts) -> StoredResult:
        """Adapt, tag, score."""
        base = self._base(spec["base"])
        chosen = method(spec["method"])(**spec["settings"])
        target = self._target(spec["target"])
        sources = self._source_domains(spec) if chosen.joint else ()
        sizes = [] if spec["size"] is None else [spec["size"]]
        shares = [] if spec["share"] is None else [spec["share"]]
        (row,) = evaluate_few_shot(
            chosen,
            base,
            target,
            sizes,
            [spec["seed"]],
            shares=shares,
            sources=sources,
            limit=spec["limit"],
        )
        data = {spec["target"][0]: spec["target"][1]}
        data |= {name: sha for s in base.facts["sources"] for name, sha in s["sha256"].items()}
        return StoredResult(
            key=key,
            method=spec["method"],
            variant=spec["variant"],
            target=target.name,
            size=row.size,
            share=row.share,
            seed=row.seed,
            f1=row.f1,
            precision=row.precision,
            recall=row.recall,
            steps=row.steps,
            seconds=row.seconds,
            iterations=base.facts["iterations"],
            base_key=spec["base"],
            base_seconds=base_outcome["seconds"],
            peak_mb=_peak_mb(),
            sentences=row.sentences,
            limited=(spec["limit"] or math.inf) < len(target.split("test")),
            entities=row.entities,
            unlabelled=row.unlabelled,
            protocol=row.protocol,
            profile=profile,
            data=data,
            settings=spec["settings"],
            code=self._told_code(spec["code"]),
            finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            by_type=row.by_type,
        )

    def _told_code(self, planned: str) -> str:
        """The code may have changed since the plan was made, or be another on purpose (--as-code)."""
        return planned if planned == self._code else f"{planned}, run by {self._code}"

    def _base(self, key: str) -> Base:
        return self._bases.get(key, lambda: Base.load(self.base_folder(key)))

    def _target(self, known: Sequence[str]) -> Corpus:
        place: Known = (known[0], known[1])
        return self._targets.get(place, lambda: as_target(self.places.data, place))

    def _source_domains(self, spec: Spec) -> list[SourceDomain]:
        def read() -> list[SourceDomain]:
            root = self.places.data
            held_out = [self._target(known) for known in spec["held_out"]]
            corpora = [as_source(root, (place, sha)) for place, sha in spec["sources"]]
            tests = [s for corpus in held_out for s in corpus.split("test")]
            return [cut(domain) for domain in source_domains(group_by_domain(corpora), tests)]

        def cut(domain: SourceDomain) -> SourceDomain:
            return domain if most is None else domain.subsample(most, spec["seed"])

        most = spec.get("source_sentences")
        sample = None if most is None else (most, spec["seed"])
        return self._sources.get(repr((spec["sources"], spec["held_out"], sample)), read)

    def _word_vectors(self, known: str | None) -> WordVectors | None:
        if known is None:
            return None
        assert self.places.vectors is not None  # the plan had its checksum from there
        return self._vectors.get(known, lambda: read_vectors(self.places.vectors or ""))

    def vector_folder(self, known: str | None) -> Path | None:
        """One copy of the vectors for all bases, which link to it."""
        vectors = self._word_vectors(known)
        if vectors is None:
            return None
        folder = self.output / "vectors" / str(known)
        names = vector_files(vectors)
        if not (folder / names[-1]).is_file():  # it is written last
            write_vectors(vectors, folder / names[0])
        return folder


class _Last(Generic[Value]):
    """The last few things read, by name."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.held: dict[Any, Value] = {}

    def get(self, name: Any, read: Callable[[], Value]) -> Value:
        if name not in self.held:
            self.keep(name, read())
        return self.held[name]

    def keep(self, name: Any, value: Value) -> None:
        self.held[name] = value
        while len(self.held) > self.size:
            del self.held[next(iter(self.held))]


def _seconds_of(folder: Path) -> float:
    """Of learning, all attempts together: the last checkpoint knows."""
    with safe_open(folder / checkpoint.FILE, framework="pt") as file:
        return round(float(json.loads((file.metadata() or {})["state"])["seconds"]), 3)


def _peak_mb() -> float:
    """Largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
