"""The plain text format: the whole file is one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from adaptner.errors import AdaptnerError, EmptyFile, EntityNotRepresentable
from adaptner.formats.base import Format, LocatedDocument, RepairCallback, ignore_repairs
from adaptner.formats.chunks import DocumentChunk
from adaptner.formats.lines import (
    ProblemCallback,
    decode_line,
    line_blocks,
    open_for_reading,
    open_for_writing,
    raise_problem,
)
from adaptner.text.chunks import split_into_chunks
from adaptner.types import Document


class PlainTextFormat(Format):
    """Keeps line endings, so that offsets match the user's file; a byte-order mark is removed.

    Several documents are written with a blank line between them.
    """

    name = "text"
    endings = (".txt",)

    def read_with_lines(
        self,
        path: str | Path,
        on_repair: RepairCallback = ignore_repairs,
        on_problem: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        with open_for_reading(path) as file:
            if _is_valid(file, path, on_problem):
                yield LocatedDocument(1, Document("".join(_decoded_blocks(file, path))))

    def read_chunks(
        self, path: str | Path, on_problem: ProblemCallback = raise_problem
    ) -> Iterator[DocumentChunk]:
        """Yields the document in chunks, so that a file of any size can be read.

        The whole file is checked before the first chunk.
        """
        with open_for_reading(path) as file:
            if not _is_valid(file, path, on_problem):
                return
            start = 0
            for text, last in split_into_chunks(_decoded_blocks(file, path)):
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


def _is_valid(file: BinaryIO, path: str | Path, on_problem: ProblemCallback) -> bool:
    """Reports all errors of the file and rewinds it; returns False if there are any."""
    valid, empty = True, True
    for line, offset, raw in line_blocks(file):
        try:
            text = decode_line(raw, path, line, keep_end=True, offset=offset)
            empty = empty and not text.strip()
        except AdaptnerError as problem:
            on_problem(problem)
            valid = False
    if valid and empty:
        on_problem(EmptyFile(file=path, unit="sentence"))
    file.seek(0)
    return valid and not empty


def _decoded_blocks(file: BinaryIO, path: str | Path) -> Iterator[str]:
    for line, offset, raw in line_blocks(file):
        yield decode_line(raw, path, line, keep_end=True, offset=offset)
