"""``adaptner terms find``: tag text by terminologies alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptner.cli import options
from adaptner.cli.common import print_error
from adaptner.cli.terms.loading import TermsFile, load_terms

if TYPE_CHECKING:
    from adaptner.errors import AdaptnerError
    from adaptner.formats.chunks import DocumentChunk


def find(
    texts: Annotated[
        list[str],
        options.argument("TEXT|FILE...", "Texts, files or folders; - is the standard input."),
    ],
    kinds: Annotated[
        str | None,
        options.file(
            "--kinds NAMES",
            "Kinds to find, with commas between them.",
            show_default="those with rules of their own",
        ),
    ] = None,
    terms: TermsFile = None,
    from_: options.FormatFrom = None,
) -> None:
    """Find entities in text by terminologies alone.

    Writes one JSON object per document, as `adaptner tag` does, with the ids of each entity's
    concepts, at most five. An argument that is no file and does not look like one is a text.

    Example: adaptner terms find "asthma and the TNF gene" abstracts/ --kinds Disease,Gene
    """
    from adaptner.errors import UnknownName
    from adaptner.formats.chunks import split_document
    from adaptner.formats.jsonl import JsonLinesFormat
    from adaptner.formats.lines import STANDARD
    from adaptner.tagging.executor import SerialExecutor, with_entities
    from adaptner.tagging.input_files import InputFiles
    from adaptner.terms.dictionary import RULES, Dictionary
    from adaptner.terms.features import TermFeatures
    from adaptner.terms.tagger import TermTagger
    from adaptner.types import Document

    compiled = load_terms(terms)
    known = compiled.facts["kinds"]
    chosen = [name for name in RULES if name in known] if kinds is None else kinds.split(",")
    for name in chosen:
        if name not in known:
            raise UnknownName.among(known, kind="kind", name=name)
    features = TermFeatures(Dictionary(compiled), {name: (name,) for name in chosen})
    problems: list[AdaptnerError] = []

    def report(problem: AdaptnerError) -> None:
        problems.append(problem)
        print_error(problem)

    def chunks() -> Iterator[DocumentChunk]:
        for text in texts:
            if _is_file(text):
                source = InputFiles([text], from_, report)
                yield from source.chunks(source.files())
            else:
                yield from split_document(Document(text))

    found = with_entities(SerialExecutor(TermTagger(features)), chunks())
    JsonLinesFormat().write_chunks(found, STANDARD)
    if problems:
        raise typer.Exit(1)


def _is_file(argument: str) -> bool:
    """Whether an argument is, or was meant to be, a file: a text has white space or no ending."""
    try:
        if argument == "-" or Path(argument).exists():
            return True
    except (OSError, ValueError):  # too long for a name of a file, or with a NUL
        return False
    return not any(c.isspace() for c in argument) and ("/" in argument or "." in argument[1:-1])
