"""Plain text: the whole file is one document, character for character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from adaptner.errors import AdaptnerError, EmptyFile, EntityNotRepresentable
from adaptner.formats.base import Placed, PlacedReader, Report, no_report
from adaptner.formats.lines import Problems, decoded, opened, stop_at, written
from adaptner.types import Document


class Text(PlacedReader):
    """Line ends stay as they are, so that offsets fit the user's file (a byte-order mark goes).

    Several documents are written with a blank line between them.
    """

    name = "text"
    endings: tuple[str, ...] = (".txt",)

    def placed(
        self, path: str | Path, report: Report = no_report, problems: Problems = stop_at
    ) -> Iterator[Placed]:
        pieces: list[str] = []
        spoiled = False
        with opened(path) as file:
            for number, raw in enumerate(file, start=1):
                try:
                    pieces.append(decoded(raw, path, number, keep_end=True))
                except AdaptnerError as problem:
                    problems(problem)
                    spoiled = True
        if spoiled:
            return
        text = "".join(pieces)
        if not text.strip():
            problems(EmptyFile(file=path, unit="sentence"))
            return
        yield Placed(1, Document(text))

    def write(self, documents: Iterable[Document], path: str | Path) -> None:
        with written(path) as file:
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
