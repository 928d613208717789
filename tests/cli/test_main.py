"""The frame of the command line: verbs, help, imports of `--help`, exit codes."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_kit import OWN

from adaptner.cli.common import expand_list_options
from adaptner.cli.main import VERBS as PANELS
from adaptner.cli.main import app

VERBS = {
    "Everyday": ("demo", "adapt", "tag", "suggest", "check", "score", "methods", "bases"),
    "Data": ("convert", "corpora", "terms", "vectors"),
    "Research": ("pretrain", "tune", "evaluate", "reproduce", "results", "calibrate", "hardness"),
}
GROUPS = {
    "corpora": ("list", "fetch", "convert", "stats"),
    "terms": ("build", "attach", "find", "kinds", "show"),
    "vectors": ("train", "count", "context", "directions", "near"),
}
CALLS = [
    *((verb,) for verbs in VERBS.values() for verb in verbs if verb not in GROUPS),
    *((group, verb) for group, verbs in GROUPS.items() for verb in verbs),
]
LONGEST_HELP = {"tag": 45, "check": 40, "suggest": 40, "adapt": 60}  # lines at 80 columns
PROGRAM = Path(sys.executable).parent / "adaptner"


def _command(verb: tuple[str, ...]) -> Any:
    command = typer.main.get_command(app)
    for name in verb:
        command = command.commands[name]
    return command


def test_verbs_and_their_groups_are_complete():
    assert set(_command(()).commands) == {verb for verbs in VERBS.values() for verb in verbs}
    for group, verbs in GROUPS.items():
        assert tuple(_command((group,)).commands) == verbs


def test_help_lists_the_verbs_in_three_groups(call):
    shown = call("--help").out
    titles = [shown.index(f"\n{title}:\n") for title in VERBS]
    assert titles == sorted(titles)
    for verbs, start, end in zip(VERBS.values(), titles, [*titles[1:], None], strict=True):
        listed = [line.split()[0] for line in shown[start:end].splitlines() if line[:3] > "   "]
        assert [name for name in listed if name in verbs] == list(verbs)


def test_summaries_are_the_first_paragraphs_of_the_help():
    for verb, summary in (item for panel in PANELS.values() for item in panel.items()):
        first, *_ = inspect.cleandoc(_command((verb,)).help).split("\n\n")
        assert summary == " ".join(first.split())


@pytest.mark.parametrize("verb", CALLS, ids=" ".join)
def test_help_has_one_to_three_examples_of_the_verb(call, verb):
    answer = call(*verb, "--help")
    assert (answer.code, answer.err) == (0, "")
    call_of_verb = ["adaptner", *verb]
    lines = [line.split() for line in answer.out.splitlines() if line.startswith("  ")]
    assert 1 <= sum(line[: len(call_of_verb)] == call_of_verb for line in lines) <= 3


@pytest.mark.parametrize("verb", CALLS, ids=" ".join)
def test_help_shows_every_word_of_the_docstring(call, verb):
    documented = _command(verb).callback.__doc__.replace("Example:", "Example")
    shown = call(*verb, "--help").out
    assert [word for word in documented.split() if word not in shown] == []


@pytest.mark.parametrize("verb", CALLS, ids=" ".join)
def test_every_option_is_explained_and_names_its_kind_of_value(verb):
    for parameter in _command(verb).params:
        if parameter.name != "help":
            assert parameter.help, parameter.name
            assert getattr(parameter, "is_flag", False) or parameter.metavar, parameter.name


@pytest.mark.parametrize("verb", LONGEST_HELP)
def test_help_fits_a_screen(call, monkeypatch, verb):
    monkeypatch.setenv("COLUMNS", "80")
    assert len(call(verb, "--help").out.splitlines()) <= LONGEST_HELP[verb]


def test_wrong_call_and_help_show_the_same_usage(call):
    wrong, help = call("suggest", "model", "text.txt", "-n", "0"), call("suggest", "--help")
    usage = "Usage: adaptner suggest MODEL FILES... [OPTIONS]"
    assert wrong.err.splitlines()[0] == help.out.splitlines()[0] == usage


def test_without_a_verb_the_help_is_shown(call):
    answer = call()
    assert answer.code in (0, 2)  # click changed its mind between versions
    assert all(title in answer.out + answer.err for title in VERBS)


@pytest.mark.processes
def test_help_loads_no_verb_and_nothing_heavy(child):
    result = child(
        "import sys\n"
        "from adaptner.cli.main import main\n"
        f"for verb in [[], *{[list(c) for c in CALLS]!r}]:\n"
        "    sys.argv = ['adaptner', *verb, '--help']\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 0, verb\n"
        "    if not verb:\n"
        "        print(*(m for m in sys.modules if m.startswith('adaptner.')), file=sys.stderr)\n"
        "heavy = {'torch', 'numpy', 'safetensors'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)\n"
    )
    assert result.returncode == 0, result.stderr
    loaded = {name.removeprefix("adaptner.") for name in result.stderr.split()}
    assert loaded == {"cli", "cli.common", "cli.help", "cli.main", "errors", "version"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["adapt"],
        ["adapt", "a.jsonl"],
        ["adapt", "a.jsonl", "-o", "m", "--nonsense"],
        ["adapt", "a.jsonl", "-o", "m", "--seed", "one"],
        ["pretrain", "-o", "base"],
        ["pretrain", "--sources", "-o", "base"],
        ["evaluate", "--base", "b"],
        ["score", "a.jsonl"],
        ["corpora", "nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_call_has_exit_code_2(call, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    answer = call(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def _ctrl_c_is_heard() -> Iterator[None]:
    """Whoever started the tests in the background may have had Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c_is_heard")
def test_ctrl_c_has_exit_code_1_and_no_traceback(call, monkeypatch, tmp_path):
    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("adaptner.formats.find_format", interrupted)
    answer = call("check", tmp_path / "a.jsonl")
    assert (answer.code, answer.out, answer.err) == (1, "", "error: interrupted\n")


@pytest.mark.usefixtures("_ctrl_c_is_heard")
def test_ctrl_c_during_pretraining_leaves_no_base(call, monkeypatch, tmp_path, config):
    monkeypatch.setattr(
        "adaptner.methods.families.meta_learner.bilevel_step",
        lambda *_: signal.raise_signal(signal.SIGINT),
    )
    sources = ("--sources", OWN / "disease", OWN / "drug")
    answer = call("pretrain", *sources, "--config", config, "-q", "-o", tmp_path / "base")
    assert (answer.code, answer.err) == (1, "error: interrupted\n")
    assert not (tmp_path / "base" / "manifest.json").exists()


@pytest.mark.processes
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
@pytest.mark.parametrize(
    "verb", ["check own.jsonl", "check own.jsonl --json", "convert own.jsonl -"]
)
@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "not"])
def test_full_disk_on_standard_output_is_an_error(tmp_path, verb, unbuffered):
    (tmp_path / "own.jsonl").write_text('{"text": "TP53 fell."}\n')
    arguments = [*verb.split(), "--to", "jsonl"] if "convert" in verb else verb.split()
    # Buffered, as users have it, and not: then the write itself fails.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | unbuffered
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [PROGRAM, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
    assert result.returncode == 1
    assert "no space left" in result.stderr
    assert "What to do" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.processes
def test_closed_pipe_gives_no_traceback(tmp_path):
    line = '{"text": "TP53 fell.", "entities": []}\n'
    (tmp_path / "own.jsonl").write_text(line * 20_000)  # more than a pipe holds
    command = f"'{PROGRAM}' convert own.jsonl - --to jsonl | head -n 1"
    result = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert result.stdout == line
    assert "Traceback" not in result.stderr
    assert "Exception" not in result.stderr


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("--sources A B C -o X", "--sources A --sources B --sources C -o X"),
        ("--sources A --sources B", "--sources A --sources B"),
        ("--sources A B --held-out C D", "--sources A --sources B --held-out C --held-out D"),
        ("-o X --sources A=B", "-o X --sources A=B"),
        ("FILE -o X", "FILE -o X"),
        ("--sources A -q --seed 3", "--sources A -q --seed 3"),
    ],
)
def test_values_after_a_list_option_are_expanded(given, read):
    assert expand_list_options(given.split()) == read.split()
