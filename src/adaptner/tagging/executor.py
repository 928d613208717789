"""Executors tag batches of documents and return the entities in input order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from adaptner.formats.chunks import DocumentChunk, group_chunks
from adaptner.types import Document, Entity

DocumentBatch = Sequence[Document]
BatchEntities = list[list[Entity]]
Details = Mapping[str, Any]  # arguments of `Tagger.predict`: ids, explain
NO_DETAILS: Details = {}


class TaggingExecutor(AbstractContextManager["TaggingExecutor"], ABC):
    @abstractmethod
    def tag(self, batches: Iterable[DocumentBatch]) -> Iterator[BatchEntities]:
        """The entities of each batch. Only a few batches are read ahead of the results."""

    def __exit__(self, *_: object) -> None:
        """Release processes or connections, if there are any."""


class DocumentTagger(Protocol):
    @property
    def predict_documents(self) -> Callable[..., BatchEntities]:
        """The entities of documents."""


class SerialExecutor(TaggingExecutor):
    """Tags in this process."""

    def __init__(self, tagger: DocumentTagger, details: Details = NO_DETAILS) -> None:
        self._predict = partial(tagger.predict_documents, **details)

    def tag(self, batches: Iterable[DocumentBatch]) -> Iterator[BatchEntities]:
        return map(self._predict, batches)


def with_entities(
    executor: TaggingExecutor, chunks: Iterable[DocumentChunk]
) -> Iterator[DocumentChunk]:
    """The chunks of documents with the entities that the executor finds in them."""
    waiting: deque[list[DocumentChunk]] = deque()

    def batches() -> Iterator[DocumentBatch]:
        for group in group_chunks(chunks):
            waiting.append(group)
            yield [chunk.document for chunk in group]

    for results in executor.tag(batches()):
        for chunk, entities in zip(waiting.popleft(), results, strict=True):
            yield replace(chunk, document=replace(chunk.document, entities=tuple(entities)))


def in_order(
    batches: Iterable[DocumentBatch],
    submit: Callable[[DocumentBatch], Any],
    wait: Callable[[Any], BatchEntities],
    max_pending: Callable[[], int],
) -> Iterator[BatchEntities]:
    """Submit batches, at most ``max_pending()`` at a time, and yield their results in input order."""
    pending: deque[Any] = deque()
    for batch in batches:
        pending.append(submit(batch))
        while len(pending) >= max_pending():
            yield wait(pending.popleft())
    while pending:
        yield wait(pending.popleft())
