"""``adaptner suggest``: which sentences to mark next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from adaptner.cli.common import QuietFlag, info, out, print_error

if TYPE_CHECKING:
    from adaptner.adaptation.suggestion import Suggestion
    from adaptner.errors import AdaptnerError
    from adaptner.tagging.input_files import InputFiles
    from adaptner.types import Sentence


def suggest(
    model: Annotated[Path, typer.Argument(help="Folder of a model made by `adaptner adapt`.")],
    files: Annotated[
        list[str], typer.Argument(help="Unlabelled text: files or folders; - is standard input.")
    ],
    number: Annotated[int, typer.Option("-n", "--number", min=1, help="Sentences at most.")] = 10,
    labelled: Annotated[
        Path | None,
        typer.Option(help="The sentences the model was made from: nothing like them is proposed."),
    ] = None,
    guesses: Annotated[
        bool,
        typer.Option("--guesses", help="Mark what the model finds, to be put right by you."),
    ] = False,
    from_: Annotated[
        str | None,
        typer.Option("--from", help="conll, jsonl or text, if the endings do not tell."),
    ] = None,
    to: Annotated[
        Literal["jsonl", "terminal"], typer.Option("--to", help="terminal: to look at.")
    ] = "jsonl",
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="File; else standard output.")
    ] = None,
    quiet: QuietFlag = False,
) -> None:
    """Propose the unlabelled sentences whose annotation would help most.

    One JSON object a line, ready to mark: a sentence and, with --guesses, its entities as the model
    sees them. Best first; none is nearly the same as another or as one of --labelled.

    Example: adaptner suggest model abstracts/ -n 10 --labelled my.jsonl -o next.jsonl

    Example: adaptner suggest model abstracts/ --to terminal
    """
    from adaptner.errors import UsageError

    if to == "terminal" and output is not None:
        raise UsageError(problem="--to terminal writes no file", remedy="leave out -o, or --to")
    from adaptner import api
    from adaptner.formats import write
    from adaptner.progress import progress_bar
    from adaptner.tagging.input_files import InputFiles
    from adaptner.types import Document

    known = api.read(labelled) if labelled is not None else ()
    tagger = api.load(model)
    source = InputFiles(files, from_, _report)
    with progress_bar("reading", quiet) as progress:
        sentences = _counted(_sentences(source), progress)
        found = api.suggest(tagger, sentences, number, labelled=known)
    if to == "terminal":
        _show(found, tagger.labels.labels)
    else:
        documents = (Document(one.sentence.text, one.guesses if guesses else ()) for one in found)
        write(documents, output or "-", "jsonl")
    if output is not None:
        info(f"{len(found)} sentence(s) to mark -> {output}", quiet)
    if not found:
        print_error("there is nothing to propose: no sentence, or none unlike those marked already")
    if source.problems or not found:
        raise typer.Exit(1)


def _sentences(source: InputFiles) -> Iterator[Sentence]:
    from dataclasses import replace

    from adaptner.text.alignment import to_sentences

    for part in source.parts(source.files()):
        # labels there may be are no concern here
        yield from to_sentences(replace(part.document, entities=()))


def _counted(sentences: Iterator[Sentence], progress) -> Iterator[Sentence]:  # type: ignore[no-untyped-def]
    for number, sentence in enumerate(sentences, 1):
        if number % 100 == 0:
            progress(number, None)
        yield sentence


def _report(problem: AdaptnerError) -> None:
    print_error(str(problem))


def _show(found: list[Suggestion], labels: tuple[str, ...]) -> None:
    from adaptner.cli.show import terminal
    from adaptner.types import Document

    for number, one in enumerate(found, 1):
        out.print(f"{number:3}. ", style="bold", end="")
        out.print(terminal(Document(one.sentence.text, one.guesses), labels))
