"""Computes one job: trains a base on its sources, or adapts a base to one draw and scores it."""

from __future__ import annotations

import datetime
import json
import math
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

from safetensors import safe_open

from adaptner.compute import find_device
from adaptner.corpora.corpus import Corpus, group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.errors import RunNotResumable
from adaptner.evaluation.protocol import DrawScore, evaluate_few_shot
from adaptner.files import atomic_file
from adaptner.methods import method
from adaptner.methods.base import Method
from adaptner.models.base import Base
from adaptner.models.storage import MANIFEST
from adaptner.models.vocabulary_files import vector_files
from adaptner.pretraining.from_sources import CARD, model_card
from adaptner.progress import ProgressCallback, no_progress
from adaptner.reproduce.jobs.code_fingerprint import code_fingerprint
from adaptner.reproduce.jobs.data import as_source, as_target
from adaptner.reproduce.jobs.job import DataPaths, Spec
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.training import checkpoint
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.vectors.word_vectors import WordVectors, read_vectors, write_vectors

BaseFacts = dict[str, Any]
# Seconds and memory that a base took. Not part of the base: two runs write the same bytes there.
COST = "cost.json"
CHECKPOINT_SECONDS = 30.0

Value = TypeVar("Value")


class JobExecutor:
    """Computes jobs one after the other and keeps what the next may need (corpora, sources, base,
    vectors) in memory. ``output/bases/KEY`` holds a base and the records of its training."""

    def __init__(self, places: DataPaths, output: Path) -> None:
        self.places = places
        self.output = output
        self._targets = RecentItems[Corpus](2)
        self._sources = RecentItems[list[SourceDomain]](1)
        self._bases = RecentItems[Base](1)
        self._vectors = RecentItems[WordVectors](1)

    def base_folder(self, key: str) -> Path:
        return self.output / "bases" / key

    @property
    def base_in_memory(self) -> str | None:
        """The key of the base in memory."""
        return next(iter(self._bases.items), None)

    def train_base(
        self, key: str, spec: Spec, progress: ProgressCallback = no_progress
    ) -> BaseFacts:
        """Trains and saves a base, from the last checkpoint if there is one."""
        folder = self.base_folder(key)
        if (folder / MANIFEST).is_file():  # saved by a worker that died before it reported
            base = self._base(key)
        else:
            base = self._fit(key, spec, progress)
            with atomic_file(folder / COST) as file:
                json.dump({"seconds": _training_seconds(folder), "peak_mb": _peak_mb()}, file)
            base.folder = self.vector_folder(spec["vectors"])
            base.save(folder)
            with atomic_file(folder / CARD) as file:
                file.write(model_card(base, method(base.method)()))
            (folder / checkpoint.CHECKPOINT_FILE).unlink(missing_ok=True)
            base.folder = folder
            self._bases.add(key, base)
        return {
            **json.loads((folder / COST).read_text()),
            "iterations": base.facts["iterations"],
            "removed": sum(s["removed"] for s in base.facts["sources"]),
        }

    def _fit(self, key: str, spec: Spec, progress: ProgressCallback) -> Base:
        learner = method(spec["learner"])(**spec["settings"])
        device = find_device(self.places.device)
        folder = self.base_folder(key)
        run = TrainingRun(folder, key, spec, True, CHECKPOINT_SECONDS, progress, device)
        options = {"vectors": self._word_vectors(spec["vectors"]), "seed": spec["seed"], "run": run}
        sources, budget = self._source_domains(spec), Budget(spec["iterations"])
        try:
            return learner.fit(sources, budget, **options)
        except RunNotResumable:  # a damaged checkpoint: start afresh
            (self.base_folder(key) / checkpoint.CHECKPOINT_FILE).unlink(missing_ok=True)
            return learner.fit(sources, budget, **options)

    def run_draw(self, key: str, spec: Spec, profile: str, base_outcome: BaseFacts) -> StoredResult:
        """Adapts the base to the draw, tags the test sentences and scores them."""
        base = self._base(spec["base"])
        adapter = method(spec["method"])(**spec["settings"])
        target = self._target(spec["target"])
        score = self._score(adapter, base, target, spec)
        values = {k: v for k, v in asdict(score).items() if k not in ("corpus", "base", "data")}
        data = {spec["target"][0]: spec["target"][1]}
        data |= {name: sha for s in base.facts["sources"] for name, sha in s["sha256"].items()}
        return StoredResult(
            **values,
            key=key,
            variant=spec["variant"],
            target=target.name,
            iterations=base.facts["iterations"],
            base_key=spec["base"],
            base_seed=base.facts["seed"],
            base_seconds=base_outcome["seconds"],
            peak_mb=_peak_mb(),
            limited=(spec["limit"] or math.inf) < len(target.split("test")),
            profile=profile,
            data=data,
            settings=spec["settings"],
            code=code_fingerprint(),
            finished=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            method_version=adapter.version,
            protocol_version=spec["protocol_version"],
        )

    def _score(self, adapter: Method, base: Base, target: Corpus, spec: Spec) -> DrawScore:
        (score,) = evaluate_few_shot(
            adapter,
            base,
            target,
            [] if spec["size"] is None else [spec["size"]],
            [spec["seed"]],
            shares=[] if spec["share"] is None else [spec["share"]],
            sources=self._source_domains(spec) if adapter.capabilities.reads_sources else (),
            limit=spec["limit"],
            draws_from=spec.get("draws_from", "all"),
            noise=spec.get("noise", 0),
        )
        return score

    def _base(self, key: str) -> Base:
        device = find_device(self.places.device)
        return self._bases.get(key, lambda: Base.load(self.base_folder(key), device))

    def _target(self, planned: Sequence[str]) -> Corpus:
        place, sha = planned
        return self._targets.get((place, sha), lambda: as_target(self.places.data, (place, sha)))

    def _source_domains(self, spec: Spec) -> list[SourceDomain]:
        limit = spec.get("source_sentences")

        def read() -> list[SourceDomain]:
            held_out = [self._target(planned) for planned in spec["held_out"]]
            corpora = [as_source(self.places.data, (place, sha)) for place, sha in spec["sources"]]
            tests = [s for corpus in held_out for s in corpus.split("test")]
            domains = source_domains(group_by_domain(corpora), tests)
            if limit is None:
                return domains
            return [domain.subsample(limit, spec["seed"]) for domain in domains]

        sample = None if limit is None else (limit, spec["seed"])
        return self._sources.get(repr((spec["sources"], spec["held_out"], sample)), read)

    def _word_vectors(self, sha: str | None) -> WordVectors | None:
        if sha is None:
            return None
        assert self.places.vectors is not None  # the plan had its checksum from there
        return self._vectors.get(sha, lambda: read_vectors(self.places.vectors or ""))

    def vector_folder(self, sha: str | None) -> Path | None:
        """The folder of the one copy of the vectors that all bases link to; written if missing."""
        vectors = self._word_vectors(sha)
        if vectors is None:
            return None
        folder = self.output / "vectors" / str(sha)
        names = vector_files(vectors)
        if not (folder / names[-1]).is_file():  # the last file to be written
            write_vectors(vectors, folder / names[0])
        return folder


class RecentItems(Generic[Value]):
    """Keeps the items that were added last."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.items: dict[Any, Value] = {}

    def get(self, key: Any, read: Callable[[], Value]) -> Value:
        if key not in self.items:
            self.add(key, read())
        return self.items[key]

    def add(self, key: Any, value: Value) -> None:
        self.items[key] = value
        while len(self.items) > self.size:
            del self.items[next(iter(self.items))]


def _training_seconds(folder: Path) -> float:
    """Over all attempts; the last checkpoint holds the sum."""
    with safe_open(folder / checkpoint.CHECKPOINT_FILE, framework="pt") as file:
        return round(float(json.loads((file.metadata() or {})["state"])["seconds"]), 3)


def _peak_mb() -> float:
    """Largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
