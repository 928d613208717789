"""``adaptner tag``: find entities in files, folders or standard input."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adaptner.cli.common import QuietFlag, complain, out, remark
from adaptner.types import Document

if TYPE_CHECKING:
    from adaptner.adaptation.tagger import Tagger
    from adaptner.errors import AdaptnerError

SHOWN = ("html", "terminal")  # ways to show a result, which are no formats to read
CHUNK = 200  # documents tagged at a time: memory does not grow with the input


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
        Path | None, typer.Option("-o", "--output", help="File; else standard output.")
    ] = None,
    quiet: QuietFlag = False,
) -> None:
    """Tag text with a model.

    One JSON object a document: its text and its entities with start, end, text, label and score.
    What cannot be read (a file, or a line of it) is reported, the rest is tagged, and the exit
    code is 1.

    Example: adaptner tag model abstracts/ -o tagged.jsonl
    """
    from adaptner import api
    from adaptner.cli.show import page, terminal
    from adaptner.files import atomic_file
    from adaptner.formats import find, write

    target = to or _target(output)
    for format in (from_, None if target in SHOWN else target):
        if format is not None:
            find("-", format)  # an unknown name is a wrong call, not a fault of some file
    tagger = api.load(model)
    source = _Source(files or ["-"], from_, quiet)
    labels = tagger.labels.labels
    documents = _tagged(tagger, source.documents())
    first = next(documents, None)
    if first is None:  # all has been reported; an earlier output is not replaced by nothing
        raise typer.Exit(1)
    documents = chain([first], documents)
    if target == "terminal":
        for document in documents:
            out.print(terminal(document, labels))
    elif target == "html":
        text = page(documents, labels, "Entities", f"{', '.join(labels)}, found by {model}")
        if output is None:
            out.file.write(text)
        else:
            with atomic_file(output) as file:
                file.write(text)
    else:
        write(documents, "-" if output is None else output, target)
    if output is not None:
        remark(f"{source.count} document(s) tagged -> {output}", quiet)
    if source.failed:
        raise typer.Exit(1)


def _target(output: Path | None) -> str:
    from adaptner.formats import detect

    if output is None:
        return "jsonl"
    return "html" if output.suffix.lower() in (".html", ".htm") else detect(output)


class _Source:
    """All documents of the named files; files at fault are reported and counted."""

    def __init__(self, names: list[str], format: str | None, quiet: bool) -> None:
        self.names, self.format, self.quiet = names, format, quiet
        self.count = self.failed = 0

    def documents(self) -> Iterator[Document]:
        from adaptner.errors import AdaptnerError
        from adaptner.formats import find

        for path in self._files():
            try:
                format = self.format or ("text" if path == "-" else None)
                for placed in find(path, format).placed(path, problems=self._report):
                    self.count += 1
                    document = placed.document
                    name = document.id or ("" if path == "-" else _name(path, placed.line, format))
                    yield Document(document.text, (), name, document.token_spans)
            except AdaptnerError as error:
                self._report(error)

    def _files(self) -> Iterator[str]:
        from adaptner.errors import EmptyFile
        from adaptner.formats import FORMATS

        endings = {e for f in FORMATS.values() for e in f.endings}
        for name in self.names:
            folder = Path(name)
            if name == "-" or not folder.is_dir():
                yield name
                continue
            inside = sorted(
                p for p in folder.rglob("*") if p.suffix.lower() in endings and p.is_file()
            )
            if not inside:
                self._report(
                    EmptyFile(file=folder, unit=f"file ending in {', '.join(sorted(endings))}")
                )
            yield from map(str, inside)

    def _report(self, problem: AdaptnerError) -> None:
        complain(str(problem))
        self.failed += 1


def _name(path: str, line: int, format: str | None) -> str:
    from adaptner.formats import find

    return path if find(path, format).name == "text" else f"{path}:{line}"


def _tagged(tagger: Tagger, documents: Iterator[Document]) -> Iterator[Document]:
    while chunk := list(islice(documents, CHUNK)):
        for document, entities in zip(chunk, tagger.predict_documents(chunk), strict=True):
            yield Document(document.text, tuple(entities), document.id, document.token_spans)
