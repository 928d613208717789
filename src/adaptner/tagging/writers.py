"""Writes tagged chunks to a file, in a format that can be read again or as a page of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from adaptner.formats import detect_format, write
from adaptner.formats.chunks import DocumentChunk
from adaptner.formats.jsonl import JsonLinesFormat
from adaptner.formats.lines import STANDARD, open_for_writing

HTML = "html"  # write-only, therefore not among the formats


def output_format(output: str | Path) -> str:
    """The format that the ending of ``output`` stands for; JSON Lines for standard output."""
    if str(output) == STANDARD:
        return JsonLinesFormat.name
    return HTML if Path(output).suffix.lower() in (".html", ".htm") else detect_format(output)


def write_chunks(
    chunks: Iterable[DocumentChunk],
    path: str | Path,
    format: str,
    labels: Sequence[str],
    note: str,
) -> None:
    """Write the whole file or, if anything fails, nothing."""
    if format == HTML:
        from adaptner.tagging.page import html_page

        with open_for_writing(path) as file:
            file.writelines(html_page(chunks, labels, "Entities", note))
    elif format == JsonLinesFormat.name:
        JsonLinesFormat().write_chunks(chunks, path)
    else:  # chunks end at a sentence boundary, and CoNLL files know sentences only
        write((chunk.document for chunk in chunks), path, format)
