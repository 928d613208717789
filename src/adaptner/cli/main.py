"""The program `adaptner`: the names of its verbs, and what happens to an error.

A verb is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer

from adaptner.cli.help import GroupHelp, VerbHelp
from adaptner.errors import AdaptnerError

_INTERRUPTED = 130  # typer's exit code after Ctrl-C: it keeps the KeyboardInterrupt to itself

# By group in `adaptner --help`: each verb, which is a module of this package, with the first
# paragraph of its own help.
VERBS = {
    "Everyday": {
        "demo": "Try adaptation on an example: find cell lines after a few labelled sentences.",
        "adapt": "Make a tagger from five to fifty labelled sentences.",
        "tag": "Find entities in text with a tagger or, with --labels, without one.",
        "suggest": "Propose the sentences whose annotation would improve a tagger most.",
        "check": "Check an annotated file for errors and likely slips.",
        "score": "Compute precision, recall and F1 of predicted entities.",
        "methods": "List the methods of pretraining and adaptation.",
        "bases": "List the installed bases: those of the package and your own.",
    },
    "Data": {
        "convert": "Convert a file to another format or tag scheme.",
        "corpora": "List, download, convert and count labelled corpora.",
        "terms": "Compile terminologies, and see what they know.",
        "vectors": "Train word vectors on raw text and inspect them.",
    },
    "Research": {
        "pretrain": "Train a base on source corpora that have many labelled sentences.",
        "tune": "Choose the steps and learning rates of adaptation on source domains.",
        "evaluate": "Measure few-shot F1 on a corpus, over repeated draws of labelled sentences.",
        "reproduce": "Fill a published table: train bases, adapt, score and report.",
        "results": "List, filter and export the results of `adaptner reproduce`.",
        "calibrate": "Measure and fit how far a base's scores and estimates of F1 can be trusted.",
        "hardness": "Show the tasks of a pretraining iteration, hardest first.",
    },
}


class Commands(Mapping[str, Any]):
    """The commands by verb; looking one up imports its module."""

    def __getitem__(self, verb: str) -> Any:
        if verb not in set(self):
            raise KeyError(verb)
        module = import_module(f"adaptner.cli.{verb}")
        group = getattr(module, "app", None)
        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        if group is None:
            single.command(verb, cls=VerbHelp)(getattr(module, verb))
        command = typer.main.get_command(group or single)
        command.name = verb
        return command

    def __iter__(self) -> Iterator[str]:
        return (verb for panel in VERBS.values() for verb in panel)

    def __len__(self) -> int:
        return sum(map(len, VERBS.values()))


class Program(GroupHelp):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = Commands()

    def summaries(self, ctx: Any) -> dict[str, dict[str, str]]:
        return VERBS


app = typer.Typer(
    name="adaptner",
    cls=Program,
    help="Named-entity recognition from five to fifty labelled sentences.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _program() -> None:
    """Makes `app` a group although no command is registered: `Commands` has them."""


def main() -> None:
    """Entry point: exit code 0 for success, 1 for a failed job, 2 for a wrong call."""
    from adaptner.cli.common import expand_list_options, print_error, system_error

    try:
        try:
            app(args=expand_list_options(sys.argv[1:]), prog_name="adaptner")
        finally:
            sys.stdout.flush()  # a full disk is noticed here instead of at exit
    except AdaptnerError as error:
        print_error(error)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code != _INTERRUPTED:
            raise
        print_error("interrupted")
    except KeyboardInterrupt:
        print_error("interrupted")
    except MemoryError:
        print_error("out of memory\n  What to do: give smaller files")
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # the reader of our output has closed it
            print_error(system_error(error))
        _give_up_output()
    else:
        return
    sys.exit(1)


def run() -> None:
    """The command `adaptner`: `main` with a faster start and exit.

    Importing torch creates a million permanent objects. Searching them for garbage repeatedly takes
    0.15 s of the start, and freeing them one by one takes 0.3 s at exit."""
    gc.set_threshold(100_000, 20, 20)
    code: object = None
    try:
        main()
    except SystemExit as end:
        code = end.code
    plain = code is None or isinstance(code, int)
    if not plain or threading.active_count() > 1:
        sys.exit(code)  # type: ignore[arg-type]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # `main` has reported it
        os._exit(int(code or 1))  # type: ignore[call-overload]
    os._exit(int(code or 0))  # type: ignore[call-overload]


def _give_up_output() -> None:
    """Redirect output that cannot be written, so that the interpreter does not try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()
