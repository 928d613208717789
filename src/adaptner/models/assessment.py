"""The estimated quality of a tagger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """Estimated F1 on text like the labelled sentences, with a 90% interval."""

    f1: float
    low: float
    high: float
    mentions: int  # in the labelled sentences

    def __str__(self) -> str:
        return f"{self.f1:.2f} (90% interval {self.low:.2f}–{self.high:.2f})"


@dataclass(frozen=True)
class Assessment:
    """Estimates for all labels together and for each label that has a mention."""

    overall: Estimate | None  # None if there is no mention
    by_label: Mapping[str, Estimate] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()  # labels without a mention

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, known: Mapping[str, Any]) -> Assessment:
        overall = known["overall"]
        return cls(
            None if overall is None else Estimate(**overall),
            {label: Estimate(**estimate) for label, estimate in known["by_label"].items()},
            tuple(known["unknown"]),
        )
