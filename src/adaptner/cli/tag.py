"""``adaptner tag``: find entities in files, folders or standard input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptner.cli.common import QuietFlag, info, out, print_error

if TYPE_CHECKING:
    from adaptner.errors import AdaptnerError
    from adaptner.formats.chunks import DocumentChunk


def tag(
    model: Annotated[Path, typer.Argument(help="Folder of a model made by `adaptner adapt`.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files or folders; - or nothing is standard input."),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", help="conll, jsonl or text, if the endings do not tell."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help="jsonl (default), conll, html or terminal; else by -o's ending."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="File; a folder, or a name with a slash at its end, for a file each; else "
            "standard output.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes of one thread each.")] = 1,
    ray: Annotated[
        str | None, typer.Option(help="On this Ray cluster instead: HOST:PORT, auto, local.")
    ] = None,
    quiet: QuietFlag = False,
) -> None:
    """Tag text with a model.

    One JSON object a document: its text and its entities with start, end, text, label and score.
    What cannot be read (a file, or a line of it) is reported, the rest is tagged, and the exit
    code is 1. Memory does not grow with the input.

    With a folder for the results every file has its own, put in place when it is complete: the same
    command again goes on where it stopped. A file with a line at fault has none until it is mended.

    Example: adaptner tag model abstracts/ -o tagged.jsonl

    Example: adaptner tag model abstracts/ -o tagged/ --jobs 4
    """
    from adaptner.errors import UsageError
    from adaptner.tagging import tag_files

    in_terminal = to == "terminal"
    if in_terminal and output is not None:
        raise UsageError(problem="--to terminal writes no file", remedy="leave out -o, or --to")
    done = tag_files(
        model,
        files or ["-"],
        output or "-",
        from_=from_,
        to=to,
        jobs=jobs,
        ray=ray,
        report=_report,
        show=_show if in_terminal else None,
    )
    if output is not None and (done.documents or done.before):
        already = f", {done.before} file(s) were done before" if done.before else ""
        info(f"{done.documents} document(s) tagged{already} -> {output}", quiet)
    if done.problems or not (done.documents or done.before):
        raise typer.Exit(1)


def _report(problem: AdaptnerError) -> None:
    print_error(str(problem))


def _show(parts: Iterator[DocumentChunk], labels: tuple[str, ...]) -> None:
    from adaptner.cli.show import terminal

    for part in parts:
        out.print(terminal(part.document, labels), end="\n" if part.last else "")
