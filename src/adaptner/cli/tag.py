"""``adaptner tag``: find entities in files, folders or standard input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from adaptner.cli import options
from adaptner.cli.common import info, out, own_lists, print_error, warn_of_unused_names
from adaptner.errors import UsageError

if TYPE_CHECKING:
    from adaptner.formats.chunks import DocumentChunk
    from adaptner.models.tagger import Tagger


def tag(
    model: Annotated[
        str | None,
        options.argument("MODEL", "Folder of a tagger, made by `adaptner adapt`."),
    ] = None,
    files: Annotated[
        list[str] | None,
        options.argument("FILES...", "Files or folders [default: standard input, -]"),
    ] = None,
    labels: Annotated[
        str | None,
        options.file(
            "--labels NAMES",
            "Find these entity types with a base's terminologies; no MODEL is given then.",
        ),
    ] = None,
    base: options.BaseFolder = None,
    terms: options.OwnNames = None,
    keep_all: options.KeepAll = False,
    output: Annotated[
        str | None,
        options.file(
            "-o, --output FILE",
            "File for all results. A folder, or a name that ends in a slash, receives one "
            "result file for each input file.",
            show_default="standard output",
        ),
    ] = None,
    to: Annotated[
        str | None,
        options.file(
            "--to FORMAT",
            "Format of the results: jsonl, conll, html or terminal.",
            show_default="by the ending of -o, else jsonl",
        ),
    ] = None,
    from_: options.FormatFrom = None,
    ids: Annotated[
        bool, options.file("--ids/--no-ids", "Add the ids of concepts to entities that have any.")
    ] = True,
    explain: Annotated[
        bool, options.file("--explain", "Say by which name of which terminology each was found.")
    ] = False,
    quiet: options.QuietFlag = False,
    jobs: options.Jobs = 1,
    device: options.DeviceName = "auto",
    ray: options.RayAddress = None,
) -> None:
    """Find entities in text with a tagger or, with --labels, without one.

    Writes one JSON object per document: its text and its entities, each with start, end, text,
    label and score. Files and lines that cannot be read are reported and skipped, and the exit code
    is then 1.

    With a folder for the results, a file is written only when it is complete: repeat an interrupted
    command and it continues where it stopped.

    Example: adaptner tag model abstracts/ -o tagged.jsonl

    Example: adaptner tag model abstracts/ -o tagged/ --jobs 4

    Example: adaptner tag --labels Disease,Chemical abstracts/ -o tagged.jsonl
    """
    from adaptner.tagging import tag_files

    to_terminal = to == "terminal"
    if to_terminal and output is not None:
        raise UsageError(problem="--to terminal writes no file", remedy="leave out -o or --to")
    inputs = files or []
    tagger: str | Tagger
    if labels is not None:
        from adaptner import api

        tagger = api.tagger(
            [name.strip() for name in labels.split(",")],
            base,
            terms=own_lists(terms),
            keep_all=keep_all,
            device=device,
        )
        warn_of_unused_names(tagger.facts, quiet)
        inputs = inputs if model is None else [model, *inputs]
    else:
        tagger = _model_folder(model, {"--base": base, "--terms": terms})
    summary = tag_files(
        tagger,
        inputs or ["-"],
        output or "-",
        from_=from_,
        to=to,
        jobs=jobs,
        ray=ray,
        device=device,
        ids=ids,
        explain=explain,
        report=print_error,
        show=_show if to_terminal else None,
    )
    finished = summary.documents or summary.skipped_files
    if output is not None and finished:
        skipped = summary.skipped_files
        note = f", {skipped} file(s) were tagged by an earlier run" if skipped else ""
        info(f"{summary.documents} document(s) tagged{note} -> {output}", quiet)
    if summary.problems or not finished:
        raise typer.Exit(1)


def _model_folder(model: str | None, unused: Mapping[str, object]) -> str:
    if model is None:
        raise UsageError(
            problem="no tagger is given",
            remedy="name its folder, or the entity types to find: --labels Disease,Chemical",
        )
    for option, value in unused.items():
        if value is not None:
            raise UsageError(
                problem=f"{option} has no use with a tagger, which is complete",
                remedy=f"leave out {option}, or name entity types with --labels",
            )
    return model


def _show(chunks: Iterator[DocumentChunk], labels: tuple[str, ...]) -> None:
    from adaptner.cli.show import coloured

    for chunk in chunks:
        out.print(coloured(chunk.document, labels), end="\n" if chunk.last else "")
