"""Who tags: a crew takes chunks of documents and gives back their entities, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from adaptner.formats.chunks import DocumentChunk, group_chunks
from adaptner.types import Document, Entity

Chunk = Sequence[Document]
ChunkEntities = list[list[Entity]]


class TaggingExecutor(AbstractContextManager[Any], Protocol):
    def found(self, chunks: Iterable[Chunk]) -> Iterator[ChunkEntities]:
        """The entities of each chunk's documents; of ``chunks`` only a few are taken in advance."""
        ...


def with_entities(crew: TaggingExecutor, parts: Iterable[DocumentChunk]) -> Iterator[DocumentChunk]:
    """The same parts with their entities."""
    waiting: deque[list[DocumentChunk]] = deque()

    def chunks() -> Iterator[Chunk]:
        for chunk in group_chunks(parts):
            waiting.append(chunk)
            yield [part.document for part in chunk]

    for found in crew.found(chunks()):
        for part, entities in zip(waiting.popleft(), found, strict=True):
            yield replace(part, document=replace(part.document, entities=tuple(entities)))


def in_order(
    chunks: Iterable[Chunk],
    submit: Callable[[Chunk], Any],
    wait: Callable[[Any], ChunkEntities],
    most: Callable[[], int],
) -> Iterator[ChunkEntities]:
    """``most()`` chunks are under way at a time, and are waited for in the order they came."""
    under_way: deque[Any] = deque()
    for chunk in chunks:
        under_way.append(submit(chunk))
        while len(under_way) >= most():
            yield wait(under_way.popleft())
    while under_way:
        yield wait(under_way.popleft())
