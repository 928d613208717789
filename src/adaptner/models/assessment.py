"""What a tagger can be expected to do, told from the few sentences it has learnt from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """F1 to expect on text like the sentences; ``low`` to ``high`` holds it in nine of ten draws."""

    f1: float
    low: float
    high: float
    mentions: int  # learnt from

    def __str__(self) -> str:
        return f"{self.f1:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Assessment:
    """``overall`` is None, and a label has no estimate, where nothing can be told: ``unknown``."""

    overall: Estimate | None
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
