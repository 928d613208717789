"""Carries out the trials of a plan, one row each, resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path

import torch

from adaptner.compute import CPU
from adaptner.corpora.sources import SourceDomain
from adaptner.episodes import draw_sentences
from adaptner.errors import OutputExists, RunNotResumable, TrainingDiverged, UsageError
from adaptner.evaluation.tuning.choice import Choice, TrialRecord, choose, summarise
from adaptner.evaluation.tuning.plan import Trial, TuningPlan
from adaptner.methods.base import Method
from adaptner.metrics.spans import Score, score_entities
from adaptner.models.base import Base
from adaptner.progress import Shown, no_progress
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.training.records import MetricsFile, read_metrics
from adaptner.types import Sentence


def tune(
    plan: TuningPlan,
    rows_file: Path | None = None,
    *,
    resume: bool = False,
    device: torch.device = CPU,
    bars: Shown = lambda title: nullcontext(no_progress),
    tell: Callable[[str], None] = lambda message: None,
) -> Choice:
    """Run every trial of ``plan`` and choose a setting.

    Records are appended to ``rows_file`` as they come. With ``resume``, finished trials are not run
    again; the base of an unfinished validation domain is, since bases are not kept."""
    trials, run = plan.trials(), plan.fingerprint()
    rows = [] if rows_file is None else _finished_trials(rows_file, run, resume)
    if rows:
        tell(f"{len(rows)} of {len(trials)} trials are finished already")
    records = None if rows_file is None else MetricsFile(rows_file, len(rows))
    try:
        for domain, group in groupby(trials[len(rows) :], key=lambda trial: trial.target.domain):
            left = list(group)
            sources = plan.sources(left[0].target)
            continued = bool(rows) and rows[-1]["validation_domain"] == domain
            again = " again, since bases are not kept" if continued else ""
            tell(f"validation domain {domain}: pretraining a base on the others{again}")
            with bars(f"pretraining without {domain}") as progress:
                base = plan.method.fit(
                    sources,
                    Budget(plan.iterations),
                    vectors=plan.vectors,
                    seed=plan.seed,
                    run=TrainingRun(progress=progress, device=device),
                )
            with bars(f"validating on {domain}") as progress:
                for outcome in _run_trials(plan, base, sources, left):
                    number = len(rows) + 1
                    rows.append({"iteration": number, "of": len(trials), "run": run, **outcome})
                    if records is not None:
                        records.add(**rows[-1])
                        records.flush()  # on disk before the next trial starts
                    remark = f"size {outcome['size']}: F1 {outcome['f1']:.3f}"
                    progress(number, len(trials), remark)
    finally:
        if records is not None:
            records.close()
    results = summarise(plan, rows)
    return Choice(plan, rows, results, choose(results))


def _run_trials(
    plan: TuningPlan, base: Base, sources: Sequence[SourceDomain], trials: Sequence[Trial]
) -> Iterator[TrialRecord]:
    """The record of each trial. Settings that amount to the same number of steps run once: with five
    sentences, 5 and 20 epochs both mean the minimum of 20 steps."""
    known: dict[object, TrialRecord] = {}
    for trial in trials:
        method = trial.setting.of(plan.method)
        support = draw_sentences(trial.target.train, trial.size, trial.seed, plan.draws_from)
        steps = method.config.adaptation.steps_for(sum(1 for s in support if len(s)))
        same = (trial.size, trial.seed, replace(trial.setting, epochs=0, steps=steps))
        if same not in known:
            known[same] = _run_trial(plan, method, base, sources, trial, support)
        yield {
            "validation_domain": trial.target.domain,
            "corpus": trial.target.corpus.name,
            "setting": asdict(trial.setting),
            "size": trial.size,
            "seed": trial.seed,
            "draws_from": plan.draws_from,
            **known[same],
        }


def _run_trial(
    plan: TuningPlan,
    method: Method,
    base: Base,
    sources: Sequence[SourceDomain],
    trial: Trial,
    support: Sequence[Sentence],
) -> TrialRecord:
    target = trial.target
    scored = target.scored(support, plan.limit)
    text = method.protocol_text(target.train)
    start = time.perf_counter()
    try:
        tagger = method.adapt(
            base,
            support,
            labels=target.corpus.labels,
            sources=sources if method.capabilities.reads_sources else (),
            unlabelled=text,
            seed=trial.seed,
        )
        seconds = time.perf_counter() - start
        predicted = tagger.predict_sentences(scored)
        score = score_entities([s.entities for s in scored], predicted).overall
        steps, diverged = int(tagger.facts["steps"]), False
    except TrainingDiverged as error:  # no tagger: the setting scores 0
        seconds = time.perf_counter() - start
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


def _finished_trials(path: Path, run: str, resume: bool) -> list[TrialRecord]:
    """The records of trials that an earlier run finished."""
    try:
        found = list(read_metrics(path))
        whole = [row["iteration"] for row in found] == list(range(1, len(found) + 1))
        unfinished = bool(found) and len(found) < found[-1]["of"]
        same = all(row["run"] == run for row in found)
    except (ValueError, KeyError, TypeError) as error:
        raise OutputExists(file=path, kind="the records of an earlier run") from error
    if not resume:
        if unfinished:
            raise UsageError(
                problem=f"{path} holds the records of an unfinished run",
                remedy="add --resume to continue it, or remove the file to start again",
            )
        return []
    if not (same and whole):
        reason = "settings or data differ from the first run" if whole else "records are missing"
        raise RunNotResumable(file=path, reason=reason)
    return found
