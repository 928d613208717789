"""Reads the documents to be tagged, chunk by chunk, from files, folders and standard input."""

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
    """A file to tag. ``relative`` is its path within the folder that the user named, or its name if
    the user named the file. Both are strings, because there may be millions of files."""

    path: str
    relative: str


class InputFiles:
    """The documents of files and folders. Problems are reported and counted, and reading goes on."""

    def __init__(self, names: Sequence[str], format: str | None, report: ProblemCallback) -> None:
        self._names, self._format, self._report = names, format, report
        self.documents = self.problems = 0
        self.faulty: set[str] = set()  # paths of files with a problem

    def files(self, excluded: Path | None = None) -> Iterator[File]:
        """The named files and the files below named folders, except those in ``excluded``."""
        for name in self._names:
            folder = Path(name)
            if name == STANDARD or not folder.is_dir():
                yield File(name, folder.name)
                continue
            is_empty = True
            for path in _files_below(folder, None if excluded is None else excluded.resolve()):
                is_empty = False
                yield File(path, os.path.relpath(path, folder))
            if is_empty:
                error = EmptyFile(file=folder, unit=f"file ending in {', '.join(ENDINGS)}")
                self._add_problem(error, name)

    def chunks(self, files: Iterator[File]) -> Iterator[DocumentChunk]:
        """The documents of ``files`` in chunks.

        Raises the error of a file that becomes unreadable in the middle of a document, since the
        first chunk of that document may have been written."""
        for file in files:
            unfinished = False
            try:
                for chunk in self._read(file.path):
                    unfinished = not chunk.last
                    self.documents += chunk.last
                    yield chunk
            except AdaptnerError as problem:
                if unfinished:
                    raise
                self._add_problem(problem, file.path)

    def _read(self, path: str) -> Iterator[DocumentChunk]:
        format = find_format(path, self._format or ("text" if path == STANDARD else None))

        def report(problem: AdaptnerError) -> None:
            self._add_problem(problem, path)

        if isinstance(format, PlainTextFormat):
            name = "" if path == STANDARD else path
            for chunk in format.read_chunks(path, report):
                yield replace(chunk, document=replace(chunk.document, id=name), file=path)
            return
        for located in format.read_with_lines(path, on_problem=report):
            document = located.document
            if not document.id and path != STANDARD:
                document = replace(document, id=f"{path}:{located.line}")
            for chunk in split_document(document):
                yield replace(chunk, file=path)

    def _add_problem(self, problem: AdaptnerError, path: str) -> None:
        self.problems += 1
        self.faulty.add(path)
        self._report(problem)


def _files_below(folder: Path, excluded: Path | None) -> Iterator[str]:
    """The files below ``folder`` that have an ending of a known format, in alphabetical order. Only
    the names of one folder at a time are in memory."""
    if excluded is not None and folder.resolve() == excluded:
        return
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = folder / name
        if path.is_dir():
            if not path.is_symlink():  # a link could lead back to this folder
                yield from _files_below(path, excluded)
        elif path.suffix.lower() in ENDINGS and path.is_file():
            yield str(path)
