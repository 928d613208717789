"""Calls of the command line, and a tiny base and tagger that all its tests share."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_kit import OWN, TINY, Answer, Call, environment, jsonl, run_main


@pytest.fixture(autouse=True)
def _isolated_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name, value in environment(tmp_path_factory).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """``call("tag", model, stdin="...")``: the entry point in this process."""

    def run(*arguments: object, stdin: str | bytes = b"") -> Answer:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
            code = run_main(patch, arguments)
        printed = capsys.readouterr()
        return Answer(code, printed.out, printed.err)

    return run


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
        for name, value in environment(tmp_path_factory).items():
            patch.setenv(name, value)
        config = ("--config", folder / "config.toml", "--iterations", 5, "--quiet")
        sources = ("--sources", OWN / "disease", f"Medicine={OWN / 'drug'}")
        assert run_main(patch, ("pretrain", *sources, *config, "-o", folder / "base")) == 0
        adapted = ("adapt", OWN / "cellline" / "train.jsonl", "--base", folder / "base", "--quiet")
        assert run_main(patch, (*adapted, "-o", folder / "model")) == 0
    return folder


@pytest.fixture
def base(workshop: Path) -> Path:
    return workshop / "base"


@pytest.fixture
def model(workshop: Path) -> Path:
    return workshop / "model"


@pytest.fixture
def config(workshop: Path) -> Path:
    return workshop / "config.toml"


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


@pytest.fixture(scope="session")
def joint_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TINY for methods that record no hardness."""
    file = tmp_path_factory.mktemp("joint") / "config.toml"
    lines = [line for line in TINY.splitlines() if not line.startswith("record_every")]
    file.write_text("\n".join(lines).replace("steps = 30", "steps = 3"))
    return file
