"""The command line: one file per verb, gathered here.

Nothing heavy is imported before a verb runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

import typer

from adaptner.cli import (
    adapt,
    bases,
    check,
    convert,
    corpora,
    demo,
    evaluate,
    hardness,
    methods,
    pretrain,
    reproduce,
    results,
    score,
    suggest,
    tag,
    tune,
    vectors,
)
from adaptner.cli.help import GroupHelp, VerbHelp
from adaptner.errors import AdaptnerError

_INTERRUPTED = 130  # typer's exit code after Ctrl-C: it keeps the KeyboardInterrupt to itself

app = typer.Typer(
    name="adaptner",
    cls=GroupHelp,
    help="Named-entity recognition from five to fifty labelled sentences.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

VERBS = {
    "Everyday": (
        demo.demo,
        adapt.adapt,
        tag.tag,
        suggest.suggest,
        check.check,
        score.score,
        methods.methods,
        bases.bases,
    ),
    "Data": (convert.convert,),
    "Research": (
        pretrain.pretrain,
        tune.tune,
        evaluate.evaluate,
        reproduce.reproduce,
        results.results,
        hardness.hardness,
    ),
}

for panel, verbs in VERBS.items():
    for verb in verbs:
        app.command(verb.__name__, cls=VerbHelp, rich_help_panel=panel)(verb)
app.add_typer(corpora.app, name="corpora", rich_help_panel="Data")
app.add_typer(vectors.app, name="vectors", rich_help_panel="Data")


def main() -> None:
    """Entry point: exit code 0 for success, 1 for a failed job, 2 for a wrong call."""
    from adaptner.cli.common import expand_list_options, print_error, system_error

    try:
        try:
            app(args=expand_list_options(sys.argv[1:]), prog_name="adaptner")
        finally:
            sys.stdout.flush()  # a full disk is to be met here, not when the interpreter ends
    except AdaptnerError as error:
        print_error(str(error))
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            print_error("stopped by you")
            sys.exit(1)
        raise
    except KeyboardInterrupt:
        print_error("stopped by you")
        sys.exit(1)
    except BrokenPipeError:  # whoever read our output has had enough
        _give_up_output()
        sys.exit(1)
    except OSError as error:
        print_error(system_error(error))
        _give_up_output()
        sys.exit(1)
    except MemoryError:
        print_error("out of memory\n  What to do: give smaller files")
        sys.exit(1)


def run() -> None:
    """What the command `adaptner` calls: ``main`` in a process of its own, which begins and ends
    without delay.

    Importing torch makes a million objects that stay: looking for garbage among them again and again
    costs 0.15 s of a start. Taking them apart one by one at the end costs 0.3 s, and does nothing that
    the end of the process does not."""
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
    except OSError:  # what of it can be told has been told by ``main``
        os._exit(int(code or 1))  # type: ignore[call-overload]
    os._exit(int(code or 0))  # type: ignore[call-overload]


def _give_up_output() -> None:
    """What cannot be written must not be tried again when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()
