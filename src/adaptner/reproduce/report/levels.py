"""The amount of target data that a result was adapted to, so that like is compared with like."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.tables.published import SEMI_SUPERVISED, UNSUPERVISED, PublishedRow


@dataclass(frozen=True)
class Level:
    """Exactly one of: a number of sentences, a share of the train split in percent, or a setting
    that the paper names without a number (PDALN's two). Results of different kinds of draws are at
    different levels, so that nothing averages or pairs them."""

    size: int | None = None
    share: float | None = None
    setting: str | None = None
    draws_from: str = "all"

    @property
    def label(self) -> str:
        """Names the kind of draw too, unless draws are from all sentences."""
        if self.draws_from == "all":
            return self._amount
        return f"{self._amount} {self.draws_from.replace('-', ' ')}"

    @property
    def _amount(self) -> str:
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
            return 0, float(self.setting == SEMI_SUPERVISED), self.setting + self.draws_from
        if self.size is not None:
            return 1, float(self.size), self.draws_from
        return 2, self.share or 0.0, ""


WHOLE_SPLIT = Level(share=100.0)


def row_level(row: PublishedRow, draws_from: str) -> Level:
    """Returns the level of our results for a row: the whole train split, unless the row names a size or
    a setting. The papers do not say whether their draws hold an entity: ``draws_from`` decides."""
    if row.size is not None:
        return Level(size=row.size, draws_from=draws_from)
    if row.setting == SEMI_SUPERVISED:
        return Level(setting=row.setting, draws_from=draws_from)
    return Level(setting=row.setting) if row.setting == UNSUPERVISED else WHOLE_SPLIT


def result_level(result: StoredResult, published: Set[Level]) -> Level:
    """Returns a result's level in a table whose rows have the levels ``published``."""
    if result.share is not None:
        return Level(share=float(result.share))
    if any(level.setting is not None for level in published):
        setting = SEMI_SUPERVISED if result.size else UNSUPERVISED
        return Level(setting=setting, draws_from=result.draws_from)
    level = Level(size=result.size, draws_from=result.draws_from)
    # MetaNER prints zero-shot rows among those that had all of the target's data.
    return (
        WHOLE_SPLIT
        if result.size == 0 and level not in published and WHOLE_SPLIT in published
        else level
    )
