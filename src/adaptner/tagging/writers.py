"""Tagged parts as a file: a format that can be read again, or a page to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from adaptner.formats import detect_format, write
from adaptner.formats.chunks import DocumentChunk
from adaptner.formats.jsonl import JsonLinesFormat
from adaptner.formats.lines import STANDARD, open_for_writing
from adaptner.tagging.page import page

PAGE = "html"  # a way to show a result, and no format to read


def target_of(output: str | Path | None) -> str:
    """What the ending of ``output`` asks for."""
    if output is None or str(output) == STANDARD:
        return "jsonl"
    return PAGE if Path(output).suffix.lower() in (".html", ".htm") else detect_format(output)


def write_chunks(
    parts: Iterable[DocumentChunk], path: str | Path, target: str, labels: Sequence[str], note: str
) -> None:
    """The file appears whole or, if anything fails, not at all."""
    if target == PAGE:
        with open_for_writing(path) as file:
            file.writelines(page(parts, labels, "Entities", note))
    elif target == JsonLinesFormat.name:
        JsonLinesFormat().write_chunks(parts, path)
    else:  # a part ends where a sentence does, which is all that CoNLL knows of documents
        write((part.document for part in parts), path, target)
