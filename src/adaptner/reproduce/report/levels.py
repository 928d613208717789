"""How much of the target a result was adapted to, so that like is compared with like."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.tables.published import SEMI_SUPERVISED, UNSUPERVISED, PublishedRow


@dataclass(frozen=True)
class Level:
    """A number of sentences, a share of the train split in percent, or a setting that the paper
    names without one number (PDALN's two). Exactly one is given."""

    size: int | None = None
    share: float | None = None
    setting: str | None = None

    @property
    def label(self) -> str:
        if self.setting is not None:
            return self.setting
        if self.share is not None:
            whole = self.share >= 100
            return "all target data" if whole else f"{self.share:g} % of the target data"
        if self.size == 0:
            return "no target labels"
        return "1 sentence" if self.size == 1 else f"{self.size:,} sentences"

    @property
    def place(self) -> tuple[int, float, str]:
        """To sort by: settings, then sizes, then shares."""
        if self.setting is not None:
            return 0, float(self.setting == SEMI_SUPERVISED), self.setting
        if self.size is not None:
            return 1, float(self.size), ""
        return 2, self.share or 0.0, ""


WHOLE = Level(share=100.0)


def row_level(row: PublishedRow) -> Level:
    """A row that names no size is about the whole train split, unless its setting says else."""
    if row.size is not None:
        return Level(size=row.size)
    if row.setting in (UNSUPERVISED, SEMI_SUPERVISED):
        return Level(setting=row.setting)
    return WHOLE


def result_level(result: StoredResult, published: Set[Level]) -> Level:
    """Where a result belongs in a table whose rows have the levels ``published``."""
    if result.share is not None:
        return Level(share=float(result.share))
    if Level(setting=UNSUPERVISED) in published or Level(setting=SEMI_SUPERVISED) in published:
        return Level(setting=SEMI_SUPERVISED if result.size else UNSUPERVISED)
    own = Level(size=result.size)
    # MetaNER prints its zero-shot rows beside those that had all of the target's data.
    return WHOLE if result.size == 0 and own not in published and WHOLE in published else own
