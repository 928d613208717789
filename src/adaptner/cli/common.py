"""What the verbs share: options, where results and remarks go, and lists after one option.

Results go to standard output, everything said to the user on the way goes to standard error, so
that output can be piped.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

INPUT_OUTPUT = "Input and output"  # group of options in --help
JsonFlag = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=INPUT_OUTPUT, help="Print the result as JSON."),
]
QuietFlag = Annotated[
    bool,
    typer.Option("--quiet", "-q", rich_help_panel=INPUT_OUTPUT, help="Print errors only."),
]
SEEDS = 2**32 - 1  # the largest seed that all generators accept

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

# Options that take several values after one mention: --sources A B C
LISTS = ("--sources", "--held-out", "--unlabelled", "--methods", "--targets", "--play")
LISTS_OF = {"reproduce": ("--sizes",)}  # other verbs take a comma-separated value


def expand_list_options(arguments: Sequence[str]) -> list[str]:
    """``--sources A B C`` as ``--sources A --sources B --sources C``, which is what click reads."""
    spelled: list[str] = []
    current = None
    lists = (*LISTS, *LISTS_OF.get(arguments[0], ())) if arguments else ()
    for argument in arguments:
        if argument.startswith("-"):
            current = argument if argument in lists else None
            if current is None:
                spelled.append(argument)
        elif current is not None:
            spelled += [current, argument]
        else:
            spelled.append(argument)
    return spelled


def print_error(message: str) -> None:
    """An error, on standard error, in red where there are colours."""
    err.print("error: ", style="bold red", end="")
    err.print(message, markup=False)


def system_error(error: OSError) -> str:
    """What the system refused, for the cases that no error of ours speaks of."""
    if error.errno == errno.ENOSPC:
        return "no space left where the output goes\n  What to do: free some space, run it again"
    place = "" if error.filename is None else f"{error.filename}: "
    reason = error.strerror or str(error)
    return f"{place}{reason}\n  What to do: check the path, and that you may read and write there"


def info(message: str, quiet: bool = False) -> None:
    if not quiet:
        err.print(message, markup=False, style="dim")


def warn(message: str, quiet: bool = False) -> None:
    if not quiet:
        err.print("warning: ", style="yellow", end="")
        err.print(message, markup=False)


def emit_json(value: Any) -> None:
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")
