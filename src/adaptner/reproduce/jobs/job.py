"""A job: one base to train, or one draw of target sentences to adapt it to and score.

The key of a job is the SHA-256 of its specification: the method and its version, the protocol and its
version, settings, checksums of the data, seed and PyTorch's version. The same job in two tables is
therefore computed once, and results stay valid when code changes without a new version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

Spec = dict[str, Any]
Kind = Literal["base", "draw"]


@dataclass(frozen=True)
class Job:
    """``base`` is the key of the base that a draw adapts."""

    kind: Kind
    spec: Spec
    base: str | None = None

    @cached_property
    def key(self) -> str:
        content = json.dumps({"kind": self.kind, **self.spec}, sort_keys=True, ensure_ascii=False)
        return sha256(content.encode()).hexdigest()


@dataclass(frozen=True)
class DataPaths:
    """Where this machine keeps the corpora and vectors that jobs name by checksum, and the device on
    which it computes."""

    data: Path
    vectors: Path | None = None
    device: str = "cpu"
