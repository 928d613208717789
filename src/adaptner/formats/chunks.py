"""Documents that may be too long to be held whole: they come, are tagged and go in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from adaptner.text.chunks import CHUNK_CHARACTERS, split_into_chunks, text_blocks
from adaptner.types import Document

GROUP_CHARACTERS = 200_000  # characters tagged at a time: memory does not grow with the input
_LEAST = 200  # what a document counts for at least: a million empty ones are not one chunk


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """A document, or a stretch of one; offsets in ``document`` count from the stretch's beginning."""

    document: Document
    start: int = 0  # where it begins in the whole
    last: bool = True
    file: str = ""  # where it is from


def split_document(document: Document) -> Iterator[DocumentChunk]:
    """Stretches that end where a sentence does. What a file has tokenised is one sentence and stays
    whole. Entities are left out: parts are made to be tagged."""
    if document.token_spans is not None or len(document.text) <= CHUNK_CHARACTERS:
        yield DocumentChunk(Document(document.text, (), document.id, document.token_spans))
        return
    start = 0
    for text, last in split_into_chunks(text_blocks(document.text)):
        yield DocumentChunk(Document(text, (), document.id), start, last)
        start += len(text)


def group_chunks(parts: Iterable[DocumentChunk]) -> Iterator[list[DocumentChunk]]:
    """As many parts together as are tagged at a time."""
    chunk: list[DocumentChunk] = []
    size = 0
    for part in parts:
        chunk.append(part)
        size += max(len(part.document.text), _LEAST)
        if size >= GROUP_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
