"""A folder of results: a file for each file, so that a run goes on where it stopped.

A result is put in place whole, so one that is there is done. A note beside them says which model
made them: a folder never mixes two.
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
from adaptner.tagging.writers import PAGE, write_chunks

NOTE = "tagged-by.json"


class OutputFolder:
    def __init__(self, folder: Path, target: str, made_by: dict[str, str]) -> None:
        self._folder, self._target = folder, target
        self._made_by = {**made_by, "to": target}
        self._ending = ".html" if target == PAGE else FORMATS[target].endings[0]

    def pending(self, files: Iterable[File]) -> list[File]:
        """Those whose result is missing or older than they are. Refuses what it would mix up."""
        listed = list(files)
        self._places = self._placed(listed)
        self._check_note(listed)
        return [file for file in listed if not self._is_done(file)]

    def write(
        self, parts: Iterator[DocumentChunk], source: InputFiles, labels: Sequence[str], note: str
    ) -> None:
        """A file with a problem has been reported and gets no result: it is tried again next time."""
        with atomic_file(self._folder / NOTE) as file:
            json.dump(self._made_by, file, indent=1)
        for path, own in groupby(parts, key=lambda part: part.file):
            try:
                sound = _all_sound(own, path, source)
                write_chunks(sound, self._places[path], self._target, labels, note)
            except _FileAtFault:
                continue

    def _placed(self, files: Sequence[File]) -> dict[str, str]:
        """Where each one's result goes."""
        owner: dict[str, str] = {}
        for file in files:
            if file.path == STANDARD:
                raise UsageError(
                    problem="standard input has no name for its result in a folder",
                    remedy="name files or folders, or a file with -o",
                )
            name = file.relative
            place = os.path.join(
                self._folder, name if name.endswith(self._ending) else f"{name}{self._ending}"
            )
            if owner.setdefault(place, file.path) != file.path:
                raise UsageError(
                    problem=f"{owner[place]} and {file.path} would both be tagged into {place}",
                    remedy="tag them into two folders",
                )
        return {path: place for place, path in owner.items()}

    def _check_note(self, files: Sequence[File]) -> None:
        try:
            before = json.loads((self._folder / NOTE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            for file in files:
                if os.path.exists(place := self._places[file.path]):
                    raise OutputExists(file=place, kind="a result of ours") from None
            return
        except ValueError:
            before = None
        if before != self._made_by:
            raise ForeignResults(file=self._folder)

    def _is_done(self, file: File) -> bool:
        try:
            made = os.stat(self._places[file.path]).st_mtime_ns
            return made >= os.stat(file.path).st_mtime_ns
        except OSError:  # either is missing; reading it will say more
            return False


class _FileAtFault(Exception):
    """Takes back what was written of the file's result."""


def _all_sound(
    parts: Iterable[DocumentChunk], path: str, source: InputFiles
) -> Iterator[DocumentChunk]:
    yield from parts
    if path in source.faulty:  # the source is beyond this file by now
        raise _FileAtFault
