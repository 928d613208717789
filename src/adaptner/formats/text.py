"""Plain text: the whole file is one document, character for character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from adaptner.errors import AdaptnerError, EmptyFile, EntityNotRepresentable
from adaptner.formats.base import LocatedDocument, LocatingReader, RepairCallback, ignore_repairs
from adaptner.formats.chunks import DocumentChunk
from adaptner.formats.lines import (
    ProblemCallback,
    decode_line,
    line_pieces,
    open_for_reading,
    open_for_writing,
    raise_problem,
)
from adaptner.text.chunks import split_into_chunks
from adaptner.types import Document


class PlainTextFormat(LocatingReader):
    """Line ends stay as they are, so that offsets fit the user's file (a byte-order mark goes).

    Several documents are written with a blank line between them.
    """

    name = "text"
    endings: tuple[str, ...] = (".txt",)

    def read_with_lines(
        self,
        path: str | Path,
        report: RepairCallback = ignore_repairs,
        problems: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        with open_for_reading(path) as file:
            if _is_sound(file, path, problems):
                yield LocatedDocument(1, Document("".join(_pieces(file, path))))

    def read_chunks(
        self, path: str | Path, problems: ProblemCallback = raise_problem
    ) -> Iterator[DocumentChunk]:
        """The document in parts, so that a file of any size can be read. All of it is looked at
        before the first one comes."""
        with open_for_reading(path) as file:
            if not _is_sound(file, path, problems):
                return
            start = 0
            for text, last in split_into_chunks(_pieces(file, path)):
                yield DocumentChunk(Document(text), start, last)
                start += len(text)

    def write(self, documents: Iterable[Document], path: str | Path) -> None:
        with open_for_writing(path) as file:
            for number, document in enumerate(documents, start=1):
                if document.entities:
                    raise EntityNotRepresentable(
                        file=path,
                        what=f"document {number}",
                        format="text",
                        reason=f"it has {len(document.entities)} entities",
                    )
                if number > 1:
                    file.write("\n\n")
                file.write(document.text)


def _is_sound(file: BinaryIO, path: str | Path, problems: ProblemCallback) -> bool:
    """Whether all of it is text; back to its beginning."""
    spoiled, empty = False, True
    for line, before, raw in line_pieces(file):
        try:
            text = decode_line(raw, path, line, keep_end=True, before=before)
            empty = empty and not text.strip()
        except AdaptnerError as problem:
            problems(problem)
            spoiled = True
    if not spoiled and empty:
        problems(EmptyFile(file=path, unit="sentence"))
    file.seek(0)
    return not spoiled and not empty


def _pieces(file: BinaryIO, path: str | Path) -> Iterator[str]:
    for line, before, raw in line_pieces(file):
        yield decode_line(raw, path, line, keep_end=True, before=before)
