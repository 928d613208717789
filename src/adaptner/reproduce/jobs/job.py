"""A job: one base to learn, or one draw to adapt it to and score.

A job is addressed by its content: the SHA-256 of its specification, which holds the settings, the
version of the code and the checksums of the data. Equal jobs of two tables are one job.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

Spec = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """``base`` is the key of the base that a draw adapts."""

    kind: Literal["base", "draw"]
    spec: Spec
    base: str | None = None

    @cached_property
    def key(self) -> str:
        content = json.dumps({"kind": self.kind, **self.spec}, sort_keys=True, ensure_ascii=False)
        return sha256(content.encode()).hexdigest()


@dataclass(frozen=True)
class DataPaths:
    """Where this machine keeps what the jobs name by checksum."""

    data: Path
    vectors: Path | None = None
