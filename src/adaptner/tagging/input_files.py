"""What is to be tagged: the documents of files, folders and standard input, part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adaptner.errors import AdaptnerError, EmptyFile
from adaptner.formats import FORMATS, find_format
from adaptner.formats.chunks import DocumentChunk, split_document
from adaptner.formats.lines import STANDARD, ProblemCallback
from adaptner.formats.text import PlainTextFormat

ENDINGS = tuple(sorted({ending for format in FORMATS.values() for ending in format.endings}))


@dataclass(frozen=True, slots=True)
class File:
    """``relative``: its path from the folder that was named; its name, if it was named itself. Both
    as strings, since there may be a great many."""

    path: str
    relative: str


class InputFiles:
    """Files at fault are reported and counted, as are lines at fault; the rest goes on."""

    def __init__(self, names: Sequence[str], format: str | None, report: ProblemCallback) -> None:
        self._names, self._format, self._report = names, format, report
        self.documents = self.problems = 0
        self.faulty: set[str] = set()  # files with a problem

    def files(self, outside: Path | None = None) -> Iterator[File]:
        """Those named and those in the folders named, but none in the folder ``outside``."""
        for name in self._names:
            folder = Path(name)
            if name == STANDARD or not folder.is_dir():
                yield File(name, folder.name)
                continue
            found = False
            for path in _inside(folder, None if outside is None else outside.resolve()):
                found = True
                yield File(path, os.path.relpath(path, folder))
            if not found:
                self._complain(
                    EmptyFile(file=folder, unit=f"file ending in {', '.join(ENDINGS)}"), name
                )

    def parts(self, files: Iterator[File]) -> Iterator[DocumentChunk]:
        for file in files:
            unfinished = False
            try:
                for part in self._parts(file.path):
                    unfinished = not part.last
                    self.documents += part.last
                    yield part
            except AdaptnerError as problem:
                if unfinished:  # it was changed while we read it, and its first part has gone out
                    raise
                self._complain(problem, file.path)

    def _parts(self, path: str) -> Iterator[DocumentChunk]:
        format = find_format(path, self._format or ("text" if path == STANDARD else None))

        def report(problem: AdaptnerError) -> None:
            self._complain(problem, path)

        if isinstance(format, PlainTextFormat):
            name = "" if path == STANDARD else path
            for part in format.read_chunks(path, report):
                yield replace(part, document=replace(part.document, id=name), file=path)
            return
        for located in format.read_with_lines(path, problems=report):
            document = located.document
            if not document.id and path != STANDARD:
                document = replace(document, id=f"{path}:{located.line}")
            for part in split_document(document):
                yield replace(part, file=path)

    def _complain(self, problem: AdaptnerError, path: str) -> None:
        self.problems += 1
        self.faulty.add(path)
        self._report(problem)


def _inside(folder: Path, outside: Path | None) -> Iterator[str]:
    """The files below ``folder`` whose endings we know, in order. Of its names only those of one
    folder at a time are held."""
    if outside is not None and folder.resolve() == outside:
        return
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = folder / name
        if path.is_dir():
            if not path.is_symlink():  # it may lead back here
                yield from _inside(path, outside)
        elif path.suffix.lower() in ENDINGS and path.is_file():
            yield str(path)
