"""Output of the verbs, and options that take a list of values.

Results go to standard output, messages to standard error, so that output can be piped.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from adaptner.errors import AdaptnerError

# Texts and names may contain what rich would read as markup or as the name of an emoji
out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)

# Options that take several values: --sources A B C
LISTS = (
    "--sources",
    "--held-out",
    "--unlabelled",
    "--methods",
    "--targets",
    "--validate-on",
    "--text",
    "--general",
)
LISTS_OF_VERB = {"reproduce": ("--sizes",)}  # in other verbs a comma-separated value


def expand_list_options(arguments: Sequence[str]) -> list[str]:
    """Rewrite ``--sources A B C`` as ``--sources A --sources B --sources C``, which typer expects."""
    expanded: list[str] = []
    current = None
    lists = (*LISTS, *LISTS_OF_VERB.get(arguments[0], ())) if arguments else ()
    for argument in arguments:
        if argument.startswith("-"):
            current = argument if argument in lists else None
            if current is None:
                expanded.append(argument)
        elif current is not None:
            expanded += [current, argument]
        else:
            expanded.append(argument)
    return expanded


def print_error(problem: str | AdaptnerError) -> None:
    err.print("error: ", style="bold red", end="")
    err.print(str(problem))


def system_error(error: OSError) -> str:
    """The message for an error of the operating system that has no class in ``adaptner.errors``."""
    if error.errno == errno.ENOSPC:
        return "no space left on the output's disk\n  What to do: free some space and repeat the command"
    place = "" if error.filename is None else f"{error.filename}: "
    reason = error.strerror or str(error)
    return (
        f"{place}{reason}\n  What to do: check the path and your permission to read and write there"
    )


def info(message: str, quiet: bool = False) -> None:
    if not quiet:
        err.print(message, style="dim")


def warn(message: str, quiet: bool = False) -> None:
    if not quiet:
        err.print("warning: ", style="yellow", end="")
        err.print(message)


_MAX_NAMES = 20  # that are shown of a list


def own_lists(values: Sequence[str] | None) -> dict[str, str]:
    """The files of ``--terms LABEL=FILE``, by label."""
    from adaptner.errors import UsageError

    found: dict[str, str] = {}
    for value in values or ():
        label, equals, file = value.partition("=")
        if not (label and equals and file) or label in found:
            raise UsageError(
                problem=f"--terms {value}: not one LABEL=FILE for each label",
                remedy="write, for example, --terms CellLine=my-cells.txt",
            )
        found[label] = file
    return found


def warn_of_unused_names(facts: Mapping[str, Any], quiet: bool) -> None:
    for label, names in facts.get("unused_names", {}).items():
        shown = [f"{name!r} ({reason})" for name, reason in names.items()]
        more = f" and {len(shown) - _MAX_NAMES} more" if len(shown) > _MAX_NAMES else ""
        warn(
            f"{label}: {len(shown)} name(s) of your list are not used: "
            f"{', '.join(shown[:_MAX_NAMES])}{more}; --keep-all uses them",
            quiet,
        )


def emit_json(value: Any) -> None:
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")
