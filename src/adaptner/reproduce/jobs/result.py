"""The result of one draw, which the runner stores and the report reads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class StoredResult:
    """One draw of one method on one target. Results with the same ``key`` are the same computation,
    whichever table asked for it."""

    key: str
    method: str  # as in ``adaptner methods``
    variant: str  # options that distinguish two runs of a method, "" for none
    target: str  # our name of the corpus
    size: int  # labelled target sentences
    share: float | None  # percent of the train split, if the draw was requested as a share
    seed: int
    f1: float
    precision: float
    recall: float
    steps: int  # of adaptation
    seconds: float  # of adaptation
    iterations: int  # of the base
    base_key: str
    base_seconds: float
    peak_mb: float  # largest resident memory of the worker
    sentences: int  # test sentences that were scored
    limited: bool  # True if that is not the whole test split
    entities: int  # in the draw
    unlabelled: int
    protocol: str
    profile: str  # quick, paper, or custom
    data: dict[str, str] = field(default_factory=dict)  # corpus -> checksum, target and sources
    settings: dict[str, Any] = field(default_factory=dict)  # of the method
    code: str = ""  # fingerprint of the package's source, for information
    finished: str = ""  # UTC, ISO 8601
    by_type: dict[str, dict[str, int]] = field(default_factory=dict)  # see evaluation/protocol.py
    draws_from: str = "all"  # kind of draw, see episodes/draws.py
    base_seed: int = 0  # of training the base
    encoder_change: float | None = None  # see evaluation/protocol.py
    base_encoder_change: float | None = None
    method_version: int = 1
    protocol_version: int = 1

    @property
    def relative_change(self) -> float | None:
        """How far adaptation moved the encoder, as a multiple of how far pretraining had."""
        if self.encoder_change is None or not self.base_encoder_change:
            return None
        return self.encoder_change / self.base_encoder_change

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
