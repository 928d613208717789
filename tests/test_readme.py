"""The examples of the README run and print what it shows; what the documentation names exists.

The first line of a code block says what the tests do with it: ``sh file=NAME`` is written to NAME, ``sh
run`` and ``python run`` are executed in the same folder, and ``json`` must be the output of the block
before. Commands in other ``sh`` blocks are not run, but the command line must accept them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from adaptner.cli.common import expand_list_options
from adaptner.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Block:
    mark: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    mark: str | None = None
    begun, lines = 0, list[str]()
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif mark is None:
            mark, begun, lines = line[3:].strip(), number, []
        else:
            found.append(Block(mark, "\n".join(lines) + "\n", begun))
            mark = None
    assert mark is None, f"{page}:{begun}: the block has no end"
    return found


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


# --- the examples run -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What each executed block of the README printed, by the line it begins on."""
    folder = tmp_path_factory.mktemp("readme")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }
    outputs = {}
    for block in blocks(README):
        if block.mark.startswith("sh file="):
            (folder / block.mark.removeprefix("sh file=")).write_text(block.text, encoding="utf-8")
        elif block.mark in ("sh run", "python run"):
            shell = ["sh", "-e", "-c"] if block.mark == "sh run" else [sys.executable, "-c"]
            result = subprocess.run(
                [*shell, block.text],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=850,
            )
            assert result.returncode == 0, f"README.md:{block.line}: {result.stderr}"
            outputs[block.line] = result.stdout
    return outputs


@pytest.mark.slow
@pytest.mark.processes
def test_every_example_runs(printed):
    assert len(printed) >= 2  # the worked example, in the shell and in Python


@pytest.mark.slow
@pytest.mark.processes
def test_output_in_the_readme_is_what_the_examples_print(printed):
    """Same keys, same text; the numbers may differ in the last place from machine to machine."""
    checked = 0
    last = ""
    for block in blocks(README):
        last = printed.get(block.line, last)
        if block.mark != "json":
            continue
        shown = [json.loads(line) for line in block.text.splitlines()]
        real = [json.loads(line) for line in last.splitlines() if line.startswith("{")]
        assert shape(shown) == shape(real), f"README.md:{block.line}"
        assert [d.get("text") for d in shown] == [d.get("text") for d in real]
        checked += 1
    assert checked


def shape(value: object) -> object:
    """The keys and the kinds of values, all the way down; of a list, those of its first item."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    return type(value).__name__


@pytest.mark.slow
@pytest.mark.processes
def test_python_shows_the_entities_of_the_worked_example(printed):
    (line,) = (b.line for b in blocks(README) if b.mark == "python run")
    estimate, entity = printed[line].splitlines()
    assert re.fullmatch(r"[01]\.\d\d \(90% interval [01]\.\d\d–[01]\.\d\d\)", estimate)
    assert re.fullmatch(r"CellLine \d+ \d+ [01]\.\d+", entity)


def test_readme_has_no_placeholder():
    text = README.read_text(encoding="utf-8")
    assert re.findall(r"\b(?:TODO|FIXME|XXX|[A-Z]{3,}_[A-Z_]{3,})\b", text) == []


# --- what is named exists -----------------------------------------------------------------------------


def verb_command(words: list[str]) -> tuple[typer.core.TyperCommand, list[str]]:
    """The command that ``words`` call, and its arguments."""
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words, "the verb is missing"
        assert words[0] in command.commands, f"adaptner has no verb {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


def accept(call: str) -> None:
    """Raises if the command line does not accept the verb, the options or the number of arguments."""
    command, arguments = verb_command(shlex.split(call, comments=True)[1:])
    command.make_context(command.name, expand_list_options(arguments))


def calls(text: str) -> list[str]:
    """The calls of adaptner in shell text, including those inside a pipe."""
    joined = text.replace("\\\n", " ")
    parts = (part.strip() for line in joined.splitlines() for part in re.split(r"\s[|]\s|&&", line))
    return [part for part in parts if part.startswith("adaptner ")]


SHELL_CALLS = [
    pytest.param(call, id=f"{page.name}: {call}")
    for page in PAGES
    for block in blocks(page)
    if block.mark in ("sh", "sh run")
    for call in calls(block.text)
]


@pytest.mark.slow
@pytest.mark.parametrize("call", SHELL_CALLS)
def test_command_line_accepts_every_call_in_a_shell_block(call):
    accept(call)


@pytest.mark.parametrize("call", ["adaptner nonsense", "adaptner adapt a.jsonl -o m --nonsense"])
def test_accept_raises_for_an_invalid_call(call):
    with pytest.raises(Exception, match="nonsense"):
        accept(call)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_and_options_in_the_text_exist(page):
    for span in re.findall(r"`adaptner ([^`]+)`", prose(page)):
        words = span.split()
        command, rest = verb_command(words)
        known = {name for parameter in command.params for name in parameter.opts} | {"--help"}
        assert {w for w in rest if w.startswith("-") and w != "-"} <= known, span


def rows(page: Path, first_heading: str) -> list[list[str]]:
    """The cells of the table whose first column is called ``first_heading``."""
    found: list[list[str]] = []
    inside = False
    for line in prose(page).splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == first_heading:
            inside = True
        elif inside and not set(cells[0]) <= set("-: "):
            found.append(cells)
    assert found, f"{page.name}: no table of {first_heading}"
    return found


def test_table_lists_every_verb():
    named = {name for row in rows(README, "verb") for name in re.findall(r"`([^`]+)`", row[0])}
    for name in named:
        verb_command(name.split())
    assert {name.split()[0] for name in named} == set(typer.main.get_command(app).commands)


def test_table_lists_every_method_that_works():
    from adaptner.methods import methods

    working = {
        name
        for row in rows(README, "method")
        if row[2].split(";")[0] == "works" and row[1] != "all"  # "all": the runner of tables
        for name in re.findall(r"`([^`]+)`", row[0])
    }
    assert working == set(methods())


def test_diagram_of_the_packages_is_the_import_contract():
    (diagram,) = (b.text for b in blocks(README) if b.mark == "text layers")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {c["name"]: c for c in project["tool"]["importlinter"]["contracts"]}
    assert diagram.splitlines() == contracts["Layers"]["layers"]


def test_make_targets_in_the_text_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    for page in PAGES:
        in_blocks = [b.text for b in blocks(page) if b.mark.startswith("sh")]
        named = re.findall(r"`make ([a-z]+)`", prose(page))
        named += [t for text in in_blocks for t in re.findall(r"^make ([a-z]+)", text, flags=re.M)]
        assert set(named) <= targets, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_local_links_have_a_target(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        goal = page if not name else page.parent / name
        assert goal.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(goal), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_of_code_in_the_text_exist(page):
    """Whole paths (`src/…`, `tests/…`) and paths inside the package (`nn/encoders/base.py`)."""
    for path in re.findall(r"`([\w/-]+/[\w-]+\.(?:py|toml))`", page.read_text(encoding="utf-8")):
        if Path(path).stem not in ("x", "x-more"):  # the placeholder in "Add a method"
            assert any((ROOT / folder / path).exists() for folder in ("", "src/adaptner")), path
