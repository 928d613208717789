"""The list of verbs, and what is imported to show it."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import typer

from adaptner.cli.main import VERBS, app

SUMMARIES = {verb: summary for panel in VERBS.values() for verb, summary in panel.items()}


@pytest.mark.parametrize("verb", SUMMARIES)
def test_summary_is_the_first_paragraph_of_the_verbs_help(verb: str) -> None:
    command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    first, *_ = inspect.cleandoc(command.help).split("\n\n")
    assert SUMMARIES[verb] == " ".join(first.split())


def test_help_imports_no_verb() -> None:
    call = (
        "import sys; from adaptner.cli.main import main\n"
        "sys.argv = ['adaptner', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*(m for m in sys.modules if m.startswith('adaptner.')), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", call], capture_output=True, text=True, check=True, timeout=120
    )
    loaded = {name.removeprefix("adaptner.") for name in done.stderr.split()}
    assert loaded == {"cli", "cli.common", "cli.help", "cli.main", "errors", "version"}
