"""The amount of target data that a result was adapted to, so that like is compared with like."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.tables.published import SEMI_SUPERVISED, UNSUPERVISED, PublishedRow


@dataclass(frozen=True)
class Level:
    """Exactly one of: a number of sentences, a share of the train split in percent, or a setting
    that the paper names without a number (PDALN's two)."""

    size: int | None = None
    share: float | None = None
    setting: str | None = None

    @property
    def label(self) -> str:
        if self.setting is not None:
            return self.setting
        if self.share is not None:
            if self.share >= 100:
                return "all target data"
            return f"{self.share:g} % of the target data"
        if self.size == 0:
            return "no target labels"
        return "1 sentence" if self.size == 1 else f"{self.size:,} sentences"

    @property
    def sort_key(self) -> tuple[int, float, str]:
        """Settings first, then sizes, then shares."""
        if self.setting is not None:
            return 0, float(self.setting == SEMI_SUPERVISED), self.setting
        if self.size is not None:
            return 1, float(self.size), ""
        return 2, self.share or 0.0, ""


WHOLE_SPLIT = Level(share=100.0)


def row_level(row: PublishedRow) -> Level:
    """Returns a row's level: the whole train split, unless it names a size or a setting."""
    if row.size is not None:
        return Level(size=row.size)
    if row.setting in (UNSUPERVISED, SEMI_SUPERVISED):
        return Level(setting=row.setting)
    return WHOLE_SPLIT


def result_level(result: StoredResult, published: Set[Level]) -> Level:
    """Returns a result's level in a table whose rows have the levels ``published``."""
    if result.share is not None:
        return Level(share=float(result.share))
    if Level(setting=UNSUPERVISED) in published or Level(setting=SEMI_SUPERVISED) in published:
        return Level(setting=SEMI_SUPERVISED if result.size else UNSUPERVISED)
    level = Level(size=result.size)
    # MetaNER prints zero-shot rows among those that had all of the target's data.
    return (
        WHOLE_SPLIT
        if result.size == 0 and level not in published and WHOLE_SPLIT in published
        else level
    )
