"""Calls of the command line, settings and models of tiny runs, and common assertions."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def run_main(patch: pytest.MonkeyPatch, arguments: tuple[object, ...]) -> int:
    """Call the entry point in this process; returns its exit code."""
    from adaptner.cli.main import main

    patch.setattr(sys, "argv", ["adaptner", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:  # any other exception would be a traceback
        main()
    assert isinstance(end.value.code, int)
    return end.value.code


class Call:
    """``call("tag", model, stdin="...")`` runs the entry point in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object, stdin: str | bytes = b"") -> Answer:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        self._capsys.readouterr()
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            code = run_main(patch, arguments)
        printed = self._capsys.readouterr()
        return Answer(code, printed.out, printed.err)

    def ok(self, *arguments: object, stdin: str | bytes = b"") -> Answer:
        """The answer of a call that must succeed."""
        answer = self(*arguments, stdin=stdin)
        assert answer.code == 0, answer.err
        assert "Traceback" not in answer.err
        return answer

    def facts(self, *arguments: object, stdin: str | bytes = b"") -> Any:
        """The JSON object that a call that must succeed printed."""
        return json.loads(self.ok(*arguments, stdin=stdin).out)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(monkeypatch, capsys)


@pytest.fixture
def child() -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs Python code in a new process."""

    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=600
        )

    return run


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with config.toml, a base of two domains and a tagger for cell lines. Tests must copy
    what they change."""
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "config.toml").write_text(TINY)
    with pytest.MonkeyPatch.context() as patch:
        config = ("--config", folder / "config.toml", "--iterations", 5, "--quiet")
        sources = ("--sources", *BASE_SOURCES)
        assert run_main(patch, ("pretrain", *sources, *config, "-o", folder / "base")) == 0
        adapted = ("adapt", CELLS / "train.jsonl", "--base", folder / "base", "--quiet")
        assert run_main(patch, (*adapted, "-o", folder / "model")) == 0
    return folder


@pytest.fixture(scope="session")
def eager_model(workshop: Path) -> Path:
    """A tagger that has memorised HeLa as a Cell, so that it finds something."""
    base = workshop / "patient base"
    shutil.copytree(workshop / "base", base)
    manifest = json.loads((base / "manifest.json").read_text())
    manifest["config"]["adaptation"]["steps"] = 150
    (base / "manifest.json").write_text(json.dumps(manifest))
    sentences = [("The HeLa line is old.", [(4, 8, "Cell")]), ("The rats ate.", [])]
    (workshop / "eager.jsonl").write_bytes(jsonl(*sentences * 3))
    with pytest.MonkeyPatch.context() as patch:
        arguments = ("adapt", workshop / "eager.jsonl", "--base", base, "--quiet")
        assert run_main(patch, (*arguments, "-o", workshop / "eager")) == 0
    return workshop / "eager"


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


def manifest_of(folder: Path) -> Any:
    """The manifest of a base or tagger."""
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def checked_entities(document: dict) -> list[dict]:
    """The entities of a tagged document, whose fields and offsets are correct."""
    for entity in document["entities"]:
        assert list(entity)[:5] == ["start", "end", "text", "label", "score"]
        assert set(entity) <= {"start", "end", "text", "label", "score", "ids", "from"}
        assert document["text"][entity["start"] : entity["end"]] == entity["text"]
        assert 0 <= entity["score"] <= 1
    return document["entities"]
