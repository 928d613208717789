"""Metrics files: JSON Lines that a run appends to, readable even if the last line is incomplete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptner.files import atomic_file, translate_os_errors


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """The records of the file, without a last line that a crash cut off."""
    if not path.exists():
        return
    with open(path, "rb") as file:  # as bytes: a cut may go through a character
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


class MetricsFile:
    """Appends records, after dropping those of iterations after ``keep_until`` (for a resumed run)."""

    def __init__(self, path: Path, keep_until: int = 0) -> None:
        kept = [r for r in read_metrics(path) if r["iteration"] <= keep_until]
        with atomic_file(path) as file:
            file.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in kept)
        self._path = path
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115

    def add(self, **record: Any) -> None:
        with translate_os_errors(self._path):
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def flush(self) -> None:
        with translate_os_errors(self._path):
            self._file.flush()

    def close(self) -> None:
        with translate_os_errors(self._path):
            self._file.close()
