"""What the tests of the command line share: how to call it, tiny settings, what to look for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import adaptner.corpora

OWN = Path(adaptner.corpora.__file__).parent / "bundled"

# Settings with which a whole run takes a second.
TINY = """\
k = 4
tasks = 2
record_every = 2
encoder = {word_width = 16, char_embedding = 8, char_cnn_filters = 8, char_lstm = 8, hidden = 12}
adaptation = {steps = 30, epochs = 0, encoder_scale = 1.0, optimiser = {name = "adamw", rate = 5e-3}}
"""


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    def records(self) -> list[dict]:
        """Standard output read as JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Call = Callable[..., Answer]


def run_main(patch: pytest.MonkeyPatch, arguments: tuple[object, ...]) -> int:
    """The entry point in this process; its exit code."""
    from adaptner.cli.main import main

    patch.setattr(sys, "argv", ["adaptner", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:  # anything else would be a stack trace
        main()
    assert isinstance(end.value.code, int)
    return end.value.code


def environment(factory: pytest.TempPathFactory) -> dict[str, str]:
    """The user's cache is left alone, and processes compute with one thread."""
    cache = factory.getbasetemp() / "cache"
    return {"XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def listing(folder: Path) -> list[str]:
    """All that is in a folder, hidden neighbours included."""
    return sorted(os.path.relpath(p, folder) for p in folder.rglob("*"))


def contents(folder: Path) -> dict[str, bytes]:
    return {os.path.relpath(p, folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def jsonl(*documents: tuple[str, list[tuple[int, int, str]]]) -> bytes:
    """Lines of {"text", "entities"} from (text, [(start, end, label)])."""
    return b"".join(
        json.dumps(
            {
                "text": text,
                "entities": [{"start": a, "end": b, "label": label} for a, b, label in entities],
            }
        ).encode()
        + b"\n"
        for text, entities in documents
    )


def refused(answer: Answer, code: int, *fragments: object) -> None:
    """A clear error: the code, all fragments, a remedy; no result, no stack trace."""
    assert answer.code == code, answer.err
    for fragment in fragments:
        assert str(fragment) in answer.err
    assert "What to do: " in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""
