"""Which setting is best: scores of the settings, and the choice kept with a base."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adaptner.errors import UsageError
from adaptner.evaluation.tuning.plan import Setting, TuningPlan
from adaptner.files import atomic_file
from adaptner.models.base import Base
from adaptner.models.storage import amend_manifest, read_manifest
from adaptner.pretraining.from_sources import CARD, model_card

TrialRecord = dict[str, Any]
TIE = 0.005  # F1: settings this close to the best count as equal, and the one with the fewest steps wins


@dataclass(frozen=True)
class SettingScore:
    """Mean F1 of a setting: by size, by validation domain, and over all."""

    setting: Setting
    by_size: dict[int, float]
    by_domain: dict[str, float]
    mean: float  # over validation domains; within one, over sizes and draws
    steps: dict[int, int]  # by size
    diverged: int  # number of trials

    @property
    def total_steps(self) -> int:
        return sum(self.steps.values())


@dataclass(frozen=True)
class Choice:
    plan: TuningPlan
    rows: list[TrialRecord]
    results: list[SettingScore]  # in the order of the grid
    chosen: SettingScore

    @property
    def adaptation(self) -> dict[str, Any]:
        """The method's adaptation settings with the chosen values."""
        config = self.chosen.setting.of(self.plan.method).config
        return config.adaptation.model_dump(mode="json")

    def facts(self) -> dict[str, Any]:
        """How the choice was made, for the manifest of a base."""
        plan = self.plan
        return {
            "procedure": plan.procedure,
            "validation_domains": [target.domain for target in plan.validation_domains],
            "grid": {name: list(values) for name, values in asdict(plan.grid).items()},
            "draws": plan.draws,
            "sizes": list(plan.sizes),
            "limit": plan.limit,
            "iterations": plan.iterations,
            "seed": plan.seed,
            "mean_f1": self.chosen.mean,
        }


def summarise(plan: TuningPlan, rows: Sequence[TrialRecord]) -> list[SettingScore]:
    """The score of each setting of the grid."""
    results = []
    for setting in plan.grid.settings():
        records = [row for row in rows if row["setting"] == asdict(setting)]
        by_domain = {
            t.domain: _mean(records, "validation_domain", t.domain) for t in plan.validation_domains
        }
        adaptation = setting.of(plan.method).config.adaptation
        results.append(
            SettingScore(
                setting,
                {size: _mean(records, "size", size) for size in plan.sizes},
                by_domain,
                statistics.fmean(by_domain.values()),
                {size: adaptation.steps_for(size) for size in plan.sizes},
                sum(row["diverged"] for row in records),
            )
        )
    return results


def choose(results: Sequence[SettingScore]) -> SettingScore:
    """Of the settings within half a point of the best mean, the one with the fewest steps."""
    best = max(result.mean for result in results)
    equals = [r for r in results if round(best - r.mean, 9) <= TIE]
    return min(equals, key=lambda r: (r.total_steps, -r.mean))


def store(choice: Choice, folder: Path) -> None:
    """Store the choice in a base as its default; its weights do not change."""
    known = read_manifest(folder, "base")
    amend_manifest(
        folder,
        "base",
        config={**known.config, "adaptation": choice.adaptation},
        facts={**known.facts, "tuning": choice.facts()},
    )
    if (folder / CARD).exists():  # the card shows the settings
        text = model_card(Base.load(folder), choice.plan.method)
        with atomic_file(folder / CARD) as file:
            file.write(text)


def refuse_other_method(base: Base, method: str) -> None:
    """Raise if the base is of another method: a choice holds for one method only."""
    if base.method != method:
        raise UsageError(
            problem=f"{base.folder} is a base of {base.method}, not of {method}",
            remedy=f"tune {base.method} (--method {base.method}), or give a base of {method}",
        )


def _mean(rows: Sequence[TrialRecord], name: str, value: object) -> float:
    return statistics.fmean(row["f1"] for row in rows if row[name] == value)
