"""Chunks of documents that may be too long for memory, read, tagged, and written one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from adaptner.text.chunks import CHUNK_CHARACTERS, split_into_chunks, text_blocks
from adaptner.types import Document

GROUP_CHARACTERS = 200_000  # tagged at a time, so that memory does not grow with the input
_MIN_DOCUMENT_CHARACTERS = 200  # shorter documents count as this long, to limit their number


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """A document or a chunk of one; the offsets in ``document`` are relative to the chunk."""

    document: Document
    start: int = 0  # offset in the whole document
    last: bool = True
    file: str = ""


def split_document(document: Document) -> Iterator[DocumentChunk]:
    """Yields chunks that end at the end of a sentence, without entities, ready to be tagged.

    A pre-tokenised document is one sentence and therefore one chunk.
    """
    if document.token_spans is not None or len(document.text) <= CHUNK_CHARACTERS:
        yield DocumentChunk(Document(document.text, (), document.id, document.token_spans))
        return
    start = 0
    for text, last in split_into_chunks(text_blocks(document.text)):
        yield DocumentChunk(Document(text, (), document.id), start, last)
        start += len(text)


def group_chunks(chunks: Iterable[DocumentChunk]) -> Iterator[list[DocumentChunk]]:
    """Yields groups of consecutive chunks that are tagged together."""
    group: list[DocumentChunk] = []
    size = 0
    for chunk in chunks:
        group.append(chunk)
        size += max(len(chunk.document.text), _MIN_DOCUMENT_CHARACTERS)
        if size >= GROUP_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group
