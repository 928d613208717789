"""Helpers for tests of the command line: calling it, settings for tiny runs, common assertions."""

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

DISEASE, DRUG, GENE, CELLS = (OWN / name for name in ("disease", "drug", "gene", "cellline"))
BASE_SOURCES = (DISEASE, f"Medicine={DRUG}")  # of the fixture `base`
SOURCE_OPTIONS = ("--sources", DISEASE, DRUG)
CELL_TEXT = (
    "The HeLa line is old.\nThe K562 and HL-60 lines were kept in RPMI; MCF-7 cells died. βHeLa?"
)

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
    """Call the entry point in this process; returns its exit code."""
    from adaptner.cli.main import main

    patch.setattr(sys, "argv", ["adaptner", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:  # any other exception would be a traceback
        main()
    assert isinstance(end.value.code, int)
    return end.value.code


def environment(factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables that keep the user's cache untouched and processes at one thread."""
    cache = factory.getbasetemp() / "cache"
    return {"XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def listing(folder: Path) -> list[str]:
    """The relative paths of everything in a folder."""
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
    """Assert a clear error: exit code, fragments of the message, a remedy, no output, no traceback."""
    assert answer.code == code, answer.err
    for fragment in fragments:
        assert str(fragment) in answer.err
    assert "What to do: " in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""


GOOD = jsonl(("TP53 fell in HeLa cells.", [(0, 4, "Gene")]))


def succeeded(answer: Answer) -> Answer:
    assert answer.code == 0, answer.err
    assert "Traceback" not in answer.err
    return answer


def checked_entities(document: dict) -> list[dict]:
    """The entities of a tagged document, whose fields and offsets are correct."""
    for entity in document["entities"]:
        assert list(entity) == ["start", "end", "text", "label", "score"]
        assert document["text"][entity["start"] : entity["end"]] == entity["text"]
        assert 0 <= entity["score"] <= 1
    return document["entities"]
