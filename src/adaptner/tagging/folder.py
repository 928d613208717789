"""A folder of results, one for each input file, so that an interrupted run can continue.

Each result is written whole, so an existing result is a finished one. A note in the folder names the
model and the format, and a folder never mixes results of two models.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from adaptner.errors import ForeignResults, OutputExists, UsageError
from adaptner.files import atomic_file
from adaptner.formats import FORMATS
from adaptner.formats.chunks import DocumentChunk
from adaptner.formats.lines import STANDARD
from adaptner.tagging.input_files import File, InputFiles
from adaptner.tagging.writers import HTML, write_chunks

NOTE = "tagged-by.json"


class OutputFolder:
    def __init__(self, folder: Path, format: str, model_digest: str) -> None:
        self._folder, self._format = folder, format
        self._note = {"model": model_digest, "to": format}
        self._ending = ".html" if format == HTML else FORMATS[format].endings[0]

    def pending(self, files: Iterable[File]) -> list[File]:
        """The files whose result is missing or older than the file.

        Raises if the folder holds results of another model, or if two results would have one name."""
        listed = list(files)
        self._results = self._result_paths(listed)
        self._check_note(listed)
        return [file for file in listed if not self._is_done(file)]

    def write(
        self, chunks: Iterator[DocumentChunk], source: InputFiles, labels: Sequence[str], note: str
    ) -> None:
        """Write a result for each file. A file with a problem gets none, so the next run tries it
        again."""
        with atomic_file(self._folder / NOTE) as file:
            json.dump(self._note, file, indent=1)
        for path, of_file in groupby(chunks, key=lambda chunk: chunk.file):
            try:
                checked = _raise_if_faulty(of_file, path, source)
                write_chunks(checked, self._results[path], self._format, labels, note)
            except _FaultyFile:
                continue

    def _result_paths(self, files: Sequence[File]) -> dict[str, str]:
        """The path of the result of each file."""
        input_of: dict[str, str] = {}
        for file in files:
            if file.path == STANDARD:
                raise UsageError(
                    problem="standard input has no name for its result in a folder",
                    remedy="name files or folders, or a file with -o",
                )
            name = file.relative.removesuffix(self._ending) + self._ending
            result = os.path.join(self._folder, name)
            if input_of.setdefault(result, file.path) != file.path:
                raise UsageError(
                    problem=f"{input_of[result]} and {file.path} would have the same result {result}",
                    remedy="tag them into two folders",
                )
        return {path: result for result, path in input_of.items()}

    def _check_note(self, files: Sequence[File]) -> None:
        try:
            found = json.loads((self._folder / NOTE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            for file in files:
                if os.path.exists(result := self._results[file.path]):
                    raise OutputExists(file=result, kind="a result of ours") from None
            return
        except ValueError:
            found = None
        if found != self._note:
            raise ForeignResults(file=self._folder)

    def _is_done(self, file: File) -> bool:
        try:
            written = os.stat(self._results[file.path]).st_mtime_ns
            return written >= os.stat(file.path).st_mtime_ns
        except OSError:  # one of them is missing; reading it will report which
            return False


class _FaultyFile(Exception):
    """Stops the writing of a result, so that nothing of it stays."""


def _raise_if_faulty(
    chunks: Iterable[DocumentChunk], path: str, source: InputFiles
) -> Iterator[DocumentChunk]:
    yield from chunks
    if path in source.faulty:  # known only once the source has read the whole file
        raise _FaultyFile
