"""JSON Lines that a run appends to, and that survive being cut off in mid-line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adaptner.files import atomic_file, translate_os_errors


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """All whole records; a last line torn by a crash is not one."""
    if not path.exists():
        return
    with open(path, "rb") as file:  # as bytes: the tear may go through a letter
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


class MetricsFile:
    """Appends records; ``keep_until`` drops those after the iteration a run resumes from."""

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
