"""``adaptner suggest``: the unlabelled sentences to annotate next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from adaptner.cli import options
from adaptner.cli.common import info, out, print_error
from adaptner.errors import UsageError

if TYPE_CHECKING:
    from adaptner.adaptation.suggestion import Suggestion
    from adaptner.tagging.input_files import InputFiles
    from adaptner.types import Sentence


def suggest(
    model: options.ModelFolder,
    files: Annotated[
        list[str],
        options.argument("FILES...", "Unlabelled text: files, folders or - (standard input)."),
    ],
    number: Annotated[
        int, options.file("-n, --number N", "Maximum number of sentences.", min=1)
    ] = 10,
    labelled: Annotated[
        Path | None,
        options.file(
            "--labelled FILE",
            "Sentences that you have annotated already; none like them is proposed.",
        ),
    ] = None,
    predictions: Annotated[
        bool, options.file("--predictions", "Add the tagger's entities, for you to correct.")
    ] = False,
    output: Annotated[
        str | None, options.file("-o, --output FILE", "File.", show_default="standard output")
    ] = None,
    to: Annotated[
        Literal["jsonl", "terminal"],
        options.file("--to FORMAT", "jsonl to annotate, terminal to look at."),
    ] = "jsonl",
    from_: options.FormatFrom = None,
    quiet: options.QuietFlag = False,
    device: options.DeviceName = "auto",
) -> None:
    """Propose the sentences whose annotation would improve a tagger most.

    Writes one sentence per line as JSON, best first, ready to annotate. No two of them are nearly
    the same.

    Example: adaptner suggest model abstracts/ --labelled my.jsonl -o next.jsonl

    Example: adaptner suggest model abstracts/ --to terminal
    """
    if to == "terminal" and output is not None:
        raise UsageError(problem="--to terminal writes no file", remedy="leave out -o or --to")
    from adaptner import api
    from adaptner.formats import write
    from adaptner.progress import progress_bar
    from adaptner.tagging.input_files import InputFiles
    from adaptner.types import Document

    known = api.read(labelled) if labelled is not None else ()
    tagger = api.load(model, device)
    source = InputFiles(files, from_, print_error)
    with progress_bar("reading", quiet) as progress:
        sentences = _unlabelled_sentences(source, progress)
        suggestions = api.suggest(tagger, sentences, number, labelled=known)
    if to == "terminal":
        _show(suggestions, tagger.labels.labels)
    else:
        documents = (
            Document(s.sentence.text, s.guesses if predictions else ()) for s in suggestions
        )
        write(documents, output or "-", "jsonl")
    if output is not None:
        info(f"{len(suggestions)} sentence(s) to annotate -> {output}", quiet)
    if not suggestions:
        print_error("no sentence to propose: the text is empty or like the annotated sentences")
    if source.problems or not suggestions:
        raise typer.Exit(1)


def _unlabelled_sentences(source: InputFiles, progress: Callable[..., None]) -> Iterator[Sentence]:
    from adaptner.text.alignment import to_sentences

    number = 0
    for chunk in source.chunks(source.files()):
        for sentence in to_sentences(replace(chunk.document, entities=())):
            number += 1
            if number % 100 == 0:
                progress(number, None)
            yield sentence


def _show(suggestions: list[Suggestion], labels: tuple[str, ...]) -> None:
    from adaptner.cli.show import coloured
    from adaptner.types import Document

    for number, suggestion in enumerate(suggestions, 1):
        out.print(f"{number:3}. ", style="bold", end="")
        document = Document(suggestion.sentence.text, suggestion.guesses)
        out.print(coloured(document, labels))
