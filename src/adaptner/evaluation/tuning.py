"""Steps and rates of fine-tuning, chosen on source domains: each in turn plays the target.

The papers give neither (ruling: Budget of fine-tuning). One procedure for every method, told in
docs/tuning.md. Test splits are dropped at the door, so nothing here can read one.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import groupby, product
from pathlib import Path
from typing import Any

from adaptner.corpora.corpus import Corpus, Domain, group_by_domain
from adaptner.corpora.overlap import without_overlap
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.episodes import draw
from adaptner.errors import (
    BadUsage,
    OutputExists,
    RunNotResumable,
    TooFewDomains,
    TooFewSentences,
    TrainingDiverged,
    UnknownName,
    nearest,
)
from adaptner.files import atomic_file
from adaptner.methods.base import Method
from adaptner.methods.families.source_pretrained import SourceLearner
from adaptner.methods.families.unadapted import Unadapted
from adaptner.methods.wpz import WPZ
from adaptner.metrics.spans import Score, score_entities
from adaptner.models.base import Base
from adaptner.models.storage import amend_manifest, read_manifest
from adaptner.pretraining.from_sources import CARD, card
from adaptner.progress import Watch, silent
from adaptner.training.budget import Budget
from adaptner.training.loop import Run
from adaptner.training.records import Records, read_records
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors
from adaptner.version import __version__

PROCEDURE = "source-plays-target/dev/strict-micro-f1"
TIE = 0.005  # F1: settings that near the best are equals, and the one with the fewest steps wins

Row = dict[str, Any]
Bars = Callable[[str], AbstractContextManager[Watch]]  # a title -> a bar to be told of progress


@dataclass(frozen=True)
class Setting:
    """One way to fine-tune: what the grid varies."""

    rate: float
    encoder_scale: float
    epochs: int
    steps: int  # at least

    def of(self, method: Method) -> Method:
        """``method`` with these, and otherwise as it is."""
        adaptation = {
            "steps": self.steps,
            "epochs": self.epochs,
            "encoder_scale": self.encoder_scale,
            "optimiser": {"rate": self.rate},
        }
        return type(method)(method.config, adaptation=adaptation)


@dataclass(frozen=True)
class Grid:
    """All combinations are tried."""

    rates: Sequence[float] = (0.03, 0.1)
    encoder_scales: Sequence[float] = (0.1,)
    epochs: Sequence[int] = (5, 10, 20)
    steps: Sequence[int] = (20,)

    def settings(self) -> list[Setting]:
        every = product(self.rates, self.encoder_scales, self.epochs, self.steps)
        return [Setting(*values) for values in every]


@dataclass(frozen=True)
class Played:
    """A source domain as the target: the first of its corpora."""

    domain: str
    corpus: Corpus

    @property
    def train(self) -> Sequence[Sentence]:
        return self.corpus.split("train")

    @property
    def dev(self) -> Sequence[Sentence]:
        return self.corpus.split("dev") if "dev" in self.corpus.splits else ()

    def scored(self, support: Sequence[Sentence], limit: int) -> list[Sentence]:
        """The dev split; where there is none, what ``support`` leaves of the train split."""
        drawn = set(support)
        return list(self.dev or (s for s in self.train if s not in drawn))[:limit]


@dataclass(frozen=True)
class Cell:
    """One adaptation."""

    target: Played
    size: int
    seed: int
    setting: Setting


@dataclass(frozen=True)
class Plan:
    """What is compared on what; refused when made if it cannot be carried out."""

    method: Method
    corpora: Sequence[Corpus]
    grid: Grid = field(default_factory=Grid)
    play: Sequence[str] = ()  # all domains, if none is named
    sizes: Sequence[int] = (5, 20, 50)
    draws: int = 3
    limit: int = 400
    iterations: int = 1000
    seed: int = 0
    vectors: WordVectors | None = None
    held_out: Sequence[Sentence] = ()  # of the true target's test: never learnt from nor scored

    def __post_init__(self) -> None:
        _refuse_nothing_to_choose(self.method)
        found = [domain.name for domain in self.domains]
        least = self.method.least_domains() if isinstance(self.method, SourceLearner) else 1
        if len(found) < least + 1:
            needed = f"at least {least + 1} here, as one of them plays the target"
            raise TooFewDomains(found=len(found), method=self.method.name, needed=needed)
        for name in self.play:
            if name not in found:
                near, known = nearest(name, found), ", ".join(found)
                raise UnknownName(kind="source domain", name=name, near=near, known=known)
        for setting in self.grid.settings():
            setting.of(self.method)  # a value out of range?
        for target in self.played:
            self._check(target)

    def _check(self, target: Played) -> None:
        folder, size = target.corpus.folder, max(self.sizes)
        what, needed = "the train split", size
        if not target.dev:
            what, needed = "the train split, where there is no dev split to score", size + 1
        if len(target.train) < needed:
            found = len(target.train)
            raise TooFewSentences(
                file=folder, found=found, what=what, needed=needed, option="--sizes"
            )
        scored = target.scored((), self.limit)
        if not any(s.entities for s in scored):
            raise BadUsage(
                problem=f"{folder}: none of the {len(scored)} sentences to score has an entity",
                remedy="raise --limit, or let other domains play the target (--play)",
            )

    @cached_property
    def domains(self) -> list[Domain]:
        return group_by_domain(without_test(corpus, self.held_out) for corpus in self.corpora)

    @cached_property
    def played(self) -> list[Played]:
        wanted = set(self.play) or {domain.name for domain in self.domains}
        return [Played(d.name, d.corpora[0]) for d in self.domains if d.name in wanted]

    def sources(self, target: Played) -> list[SourceDomain]:
        """The other domains, less their copies of what may be scored."""
        others = [d for d in self.domains if d.name != target.domain]
        return source_domains(others, target.dev or target.train)

    def cells(self) -> list[Cell]:
        """In the order they are done in."""
        seeds = range(self.seed, self.seed + self.draws)
        every = product(self.played, self.sizes, seeds, self.grid.settings())
        return [Cell(*parts) for parts in every]

    def fingerprint(self) -> str:
        """Of all that the rows depend on. What the grid sets is the same for any method's own
        value: a base that has the choice in it already is no other base."""
        normal = self.grid.settings()[0].of(self.method)
        facts = {
            "version": __version__,
            "procedure": PROCEDURE,
            "method": self.method.name,
            "config": normal.config.model_dump(mode="json"),
            "sources": [[c.domain, c.name, c.sha256] for c in self.corpora],
            "vectors": None if self.vectors is None else self.vectors.digest(),
            "held_out": sorted({s.text for s in self.held_out}),
            "limit": self.limit,
            "seed": self.seed,
            "iterations": self.iterations,
            "cells": [
                [cell.target.domain, cell.size, cell.seed, asdict(cell.setting)]
                for cell in self.cells()
            ],
        }
        return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Result:
    """What a setting reached: F1 over the draws by size and by played target, and over all."""

    setting: Setting
    by_size: dict[int, float]
    by_played: dict[str, float]
    mean: float  # over played targets of the mean over their sizes and draws
    steps: dict[int, int]  # by size
    diverged: int  # adaptations that did

    @property
    def total_steps(self) -> int:
        return sum(self.steps.values())


@dataclass(frozen=True)
class Choice:
    plan: Plan
    rows: list[Row]
    results: list[Result]  # in the order of the grid
    chosen: Result

    @property
    def adaptation(self) -> dict[str, Any]:
        """The method's whole table of adaptation, the choice in it."""
        config = self.chosen.setting.of(self.plan.method).config
        return config.adaptation.model_dump(mode="json")

    def facts(self) -> dict[str, Any]:
        """What a base is told of how its adaptation was chosen."""
        plan = self.plan
        return {
            "procedure": PROCEDURE,
            "played": [target.domain for target in plan.played],
            "grid": {name: list(values) for name, values in asdict(plan.grid).items()},
            "draws": plan.draws,
            "sizes": list(plan.sizes),
            "limit": plan.limit,
            "iterations": plan.iterations,
            "seed": plan.seed,
            "mean_f1": self.chosen.mean,
        }


def tune(
    plan: Plan,
    rows_file: Path | None = None,
    *,
    resume: bool = False,
    bars: Bars = lambda title: nullcontext(silent),
    tell: Callable[[str], None] = lambda message: None,
) -> Choice:
    """Adapt in every cell of ``plan`` and choose. Rows are appended to ``rows_file`` as they come;
    with ``resume`` those that are there are not done again, but their base is learnt anew."""
    cells, run = plan.cells(), plan.fingerprint()
    rows = [] if rows_file is None else _earlier(rows_file, run, resume)
    if rows:
        tell(f"{len(rows)} of {len(cells)} rows are there already")
    records = None if rows_file is None else Records(rows_file, len(rows))
    try:
        for domain, group in groupby(cells[len(rows) :], key=lambda cell: cell.target.domain):
            left = list(group)
            sources = plan.sources(left[0].target)
            again = " again: bases are not kept" if rows and rows[-1]["played"] == domain else ""
            tell(f"{domain} plays the target; its base is learnt{again}")
            with bars(f"learning a base without {domain}") as watch:
                base = plan.method.fit(
                    sources,
                    Budget(plan.iterations),
                    vectors=plan.vectors,
                    seed=plan.seed,
                    run=Run(watch=watch),
                )
            with bars(f"{domain} plays the target") as watch:
                for outcome, cell in zip(_outcomes(plan, base, sources, left), left, strict=True):
                    number = len(rows) + 1
                    row = {"iteration": number, "of": len(cells), "run": run, **_named(cell)}
                    rows.append(row | outcome)
                    if records is not None:
                        records.add(**rows[-1])
                        records.flush()  # a row is safe before the next is begun
                    watch(number, len(cells), f"size {cell.size}: F1 {outcome['f1']:.3f}")
    finally:
        if records is not None:
            records.close()
    results = summarise(plan, rows)
    return Choice(plan, rows, results, choose(results))


def summarise(plan: Plan, rows: Sequence[Row]) -> list[Result]:
    """A result for each setting of the grid."""
    results = []
    for setting in plan.grid.settings():
        own = [row for row in rows if row["setting"] == asdict(setting)]
        by_played = {t.domain: _mean(own, "played", t.domain) for t in plan.played}
        adaptation = setting.of(plan.method).config.adaptation
        results.append(
            Result(
                setting,
                {size: _mean(own, "size", size) for size in plan.sizes},
                by_played,
                statistics.fmean(by_played.values()),
                {size: adaptation.steps_for(size) for size in plan.sizes},
                sum(row["diverged"] for row in own),
            )
        )
    return results


def choose(results: Sequence[Result]) -> Result:
    """The best mean; among those within half a point of it the fewest steps, then the better."""
    best = max(result.mean for result in results)
    equals = [r for r in results if round(best - r.mean, 9) <= TIE]
    return min(equals, key=lambda r: (r.total_steps, -r.mean))


def store(choice: Choice, folder: Path) -> None:
    """Put the choice into a base, which adapts by it from now on; its weights are not touched."""
    known = read_manifest(folder, "base")
    amend_manifest(
        folder,
        "base",
        config={**known.config, "adaptation": choice.adaptation},
        facts={**known.facts, "tuning": choice.facts()},
    )
    if (folder / CARD).exists():  # it shows the settings
        text = card(Base.load(folder), choice.plan.method)
        with atomic_file(folder / CARD) as file:
            file.write(text)


def refuse_other_method(base: Base, method: str) -> None:
    """A choice is one method's: it says nothing of another's base."""
    if base.method != method:
        raise BadUsage(
            problem=f"{base.folder} is a base of {base.method}, not of {method}",
            remedy=f"tune {base.method} (--method {base.method}), or give a base of {method}",
        )


def without_test(corpus: Corpus, held_out: Sequence[Sentence] = ()) -> Corpus:
    """Its train and dev splits, less what stands in ``held_out``, and the labels that these show."""
    kept: dict[str, tuple[Sentence, ...]] = {
        name: tuple(without_overlap(corpus.split(name), held_out)[0])
        for name in ("train", "dev")
        if name in corpus.splits
    }
    labels = LabelSet.of(s for split in kept.values() for s in split)
    return replace(corpus, sentences=kept, labels=labels)


def _refuse_nothing_to_choose(method: Method) -> None:
    means_only = isinstance(method, WPZ) and not method.config.retrain
    if isinstance(method, Unadapted) or means_only:
        raise BadUsage(
            problem=f"{method.name} takes no step on the target"
            + (" (retrain = false)" if means_only else "")
            + ": there is nothing to choose",
            remedy="tune a method that learns from the target's sentences (`adaptner methods`)",
        )


def _outcomes(
    plan: Plan, base: Base, sources: Sequence[SourceDomain], cells: Sequence[Cell]
) -> Iterator[Row]:
    """What each cell gave. Settings that come to the same steps at a size are adapted once: with
    five sentences, 5 and 20 epochs are both the 20 steps that are the least."""
    known: dict[object, Row] = {}
    for cell in cells:
        method = cell.setting.of(plan.method)
        support = draw(cell.target.train, cell.size, cell.seed)
        steps = method.config.adaptation.steps_for(sum(1 for s in support if len(s)))
        same = (cell.size, cell.seed, replace(cell.setting, epochs=0, steps=steps))
        if same not in known:
            known[same] = _outcome(plan, method, base, sources, cell, support)
        yield known[same]


def _outcome(
    plan: Plan,
    method: Method,
    base: Base,
    sources: Sequence[SourceDomain],
    cell: Cell,
    support: Sequence[Sentence],
) -> Row:
    target = cell.target
    scored = target.scored(support, plan.limit)
    text = method.protocol_text(target.train)
    begun = time.perf_counter()
    try:
        tagger = method.adapt(
            base,
            support,
            labels=target.corpus.labels,
            sources=sources if method.joint else (),
            unlabelled=text,
            seed=cell.seed,
        )
        seconds = time.perf_counter() - begun
        found = tagger.predict_sentences(scored)
        score = score_entities([s.entities for s in scored], found).overall
        steps, diverged = int(tagger.facts["steps"]), False
    except TrainingDiverged as error:  # it has no tagger, and that is what the setting is worth
        seconds = time.perf_counter() - begun
        score, steps, diverged = Score(), int(str(error.facts["iteration"])), True
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "steps": steps,
        "seconds": round(seconds, 3),
        "sentences": len(scored),
        "entities": sum(len(s.entities) for s in support),
        "diverged": diverged,
    }


def _named(cell: Cell) -> Row:
    return {
        "played": cell.target.domain,
        "corpus": cell.target.corpus.name,
        "setting": asdict(cell.setting),
        "size": cell.size,
        "seed": cell.seed,
    }


def _earlier(path: Path, run: str, resume: bool) -> list[Row]:
    """The rows to go on from."""
    try:
        found = list(read_records(path))
        whole = [row["iteration"] for row in found] == list(range(1, len(found) + 1))
        unfinished = bool(found) and len(found) < found[-1]["of"]
        same = all(row["run"] == run for row in found)
    except (ValueError, KeyError, TypeError) as error:
        raise OutputExists(file=path, kind="the rows of a run of ours") from error
    if not resume:
        if unfinished:
            raise BadUsage(
                problem=f"{path} holds the rows of an unfinished run",
                remedy="add --resume to go on with it, or remove the file to start afresh",
            )
        return []
    if not (same and whole):
        reason = "settings or data differ from the first run's" if whole else "rows are missing"
        raise RunNotResumable(file=path, reason=reason)
    return found


def _mean(rows: Sequence[Row], name: str, value: object) -> float:
    return statistics.fmean(row["f1"] for row in rows if row[name] == value)
