"""The JSON Lines format: one object per line with a text and its entities."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from adaptner.errors import AdaptnerError, BadEntity, BadJson, EmptyFile
from adaptner.formats.base import Format, LocatedDocument, RepairCallback, ignore_repairs
from adaptner.formats.chunks import DocumentChunk
from adaptner.formats.lines import (
    ProblemCallback,
    bounded_lines,
    decode_line,
    open_for_reading,
    open_for_writing,
    raise_problem,
)
from adaptner.types import Document, Entity, Span


class JsonLinesFormat(Format):
    """``{"text": ..., "entities": [{"start": 0, "end": 4, "label": "Gene"}], "id": ...}``.

    An entity may have a ``score`` and ``ids``, a list of strings. ``token_spans`` ([[start, end], ...])
    preserves the tokens of documents converted from CoNLL. Other keys are ignored.
    """

    name = "jsonl"
    endings = (".jsonl", ".ndjson")

    def read_with_lines(
        self,
        path: str | Path,
        on_repair: RepairCallback = ignore_repairs,
        on_problem: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        empty = True
        with open_for_reading(path) as file:
            for number, raw in bounded_lines(file):
                try:
                    line = decode_line(raw, path, number)
                    if not line.strip():
                        continue
                    empty = False
                    document = _LineParser(path, number, on_problem).parse(line)
                except AdaptnerError as problem:
                    empty = False
                    on_problem(problem)
                    continue
                if document is not None:
                    yield LocatedDocument(number, document)
        if empty:
            on_problem(EmptyFile(file=path, unit="line of JSON"))

    def write(self, documents: Iterable[Document], path: str | Path) -> None:
        self.write_chunks(map(DocumentChunk, documents), path)

    def write_chunks(self, chunks: Iterable[DocumentChunk], path: str | Path) -> None:
        """Writes documents that come in chunks and holds only one chunk in memory."""
        with open_for_writing(path) as file:
            write_json_lines(chunks, file)


def write_json_lines(chunks: Iterable[DocumentChunk], file: IO[str]) -> None:
    iterator = iter(chunks)
    for first in iterator:
        if first.last:
            file.write(_to_json(_document_object(first.document)) + "\n")
        else:
            _write_chunks_as_line(first, iterator, file)


def _write_chunks_as_line(
    first: DocumentChunk, others: Iterator[DocumentChunk], file: IO[str]
) -> None:
    """Writes the chunks of one document as one line.

    The text precedes the entities, so the entities are kept in a temporary file meanwhile.
    """
    identifier = f'"id": {_to_json(first.document.id)}, ' if first.document.id else ""
    file.write(f'{{{identifier}"text": "')
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as entities:
        separator = ""
        chunk = first
        while True:
            file.write(_to_json(chunk.document.text)[1:-1])  # without the quotes
            for entity in chunk.document.entities:
                entities.write(separator + _to_json(_entity_object(entity, chunk)))
                separator = ", "
            if chunk.last:
                break
            chunk = next(others)
        file.write('", "entities": [')
        entities.seek(0)
        shutil.copyfileobj(entities, file)
        file.write("]}\n")


def _document_object(document: Document) -> dict[str, Any]:
    chunk = DocumentChunk(document)
    result: dict[str, Any] = {"id": document.id} if document.id else {}
    entities = [_entity_object(e, chunk) for e in document.entities]
    result |= {"text": document.text, "entities": entities}
    if document.token_spans is not None:
        result["token_spans"] = document.token_spans
    return result


def _entity_object(entity: Entity, chunk: DocumentChunk) -> dict[str, Any]:
    result: dict[str, Any] = {
        "start": chunk.start + entity.start,
        "end": chunk.start + entity.end,
        "text": entity.text_in(chunk.document.text),  # for human readers, ignored by ``read``
        "label": entity.label,
    }
    if entity.score is not None:
        result["score"] = entity.score
    if entity.ids:
        result["ids"] = entity.ids
    if entity.origin is not None:
        result["from"] = {name: value for name, value in asdict(entity.origin).items() if value}
    return result


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class _LineParser:
    """Parses one line to a document."""

    def __init__(self, path: str | Path, number: int, on_problem: ProblemCallback) -> None:
        self._path = path
        self._number = number
        self._on_problem = on_problem

    def parse(self, line: str) -> Document | None:
        """Returns the document, or None if an entity is invalid and ``on_problem`` did not raise."""
        value = self._object(line)
        text = self._text(value)
        spans = self._token_spans(value.get("token_spans"), text)
        items = value.get("entities", [])
        if not isinstance(items, list):
            raise self._error(f'"entities" is {_json_type(items)}, not a list')
        entities: list[Entity] = []
        for number, item in enumerate(items, start=1):
            entity = _parse_entity(item, len(text))
            if isinstance(entity, Entity):
                entities.append(entity)
            else:
                self._on_problem(
                    BadEntity(file=self._path, line=self._number, number=number, reason=entity)
                )
        identifier = value.get("id", "")
        if not isinstance(identifier, str | int) or isinstance(identifier, bool):
            raise self._error(f'"id" is {_json_type(identifier)}, not a string')
        if len(entities) < len(items):
            return None
        return Document(text, tuple(entities), str(identifier), spans)

    def _object(self, line: str) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise self._error(f"{error.msg} at character {error.pos + 1}") from error
        except (ValueError, RecursionError) as error:
            raise self._error("a number is too long or the nesting too deep") from error
        if not isinstance(value, dict):
            raise self._error(f"it is {_json_type(value)}")
        return value

    def _text(self, value: dict[str, Any]) -> str:
        if "text" not in value:
            raise self._error('"text" is missing')
        text = value["text"]
        if not isinstance(text, str):
            raise self._error(f'"text" is {_json_type(text)}, not a string')
        if _has_lone_surrogates(text):
            raise self._error('"text" contains half of a surrogate pair')
        return text

    def _token_spans(self, items: object, text: str) -> tuple[Span, ...] | None:
        if items is None:
            return None
        spans: list[Span] = []
        previous_end = 0
        for pair in items if isinstance(items, list) else [None]:
            if not (
                isinstance(pair, list)
                and len(pair) == 2
                and all(_is_int(n) for n in pair)
                and previous_end <= pair[0] < pair[1] <= len(text)
            ):
                raise self._error(
                    '"token_spans" is not a list of increasing [start, end] in the text'
                )
            spans.append((pair[0], pair[1]))
            previous_end = pair[1]
        return tuple(spans)

    def _error(self, reason: str) -> BadJson:
        return BadJson(file=self._path, line=self._number, reason=reason)


def _parse_entity(item: object, length: int) -> Entity | str:
    """Returns the entity, or the reason why it is invalid."""
    if not isinstance(item, dict):
        return f"it is {_json_type(item)}, not an object"
    for key in ("start", "end", "label"):
        if key not in item:
            return f'"{key}" is missing'
    start, end, label, score = item["start"], item["end"], item["label"], item.get("score")
    if not (_is_int(start) and _is_int(end)):
        return '"start" and "end" must be whole numbers'
    if not isinstance(label, str) or not label.strip() or _has_lone_surrogates(label):
        return '"label" must be a non-empty string'
    if not 0 <= start < end <= length:
        return f"{start}-{end} is not inside the text of {length} characters"
    if score is not None:
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        if not is_number or not math.isfinite(score):
            return '"score" must be a number'
        score = float(score)
    ids = item.get("ids", [])
    if not isinstance(ids, list) or not all(isinstance(i, str) and i.strip() for i in ids):
        return '"ids" must be a list of strings'
    if any(map(_has_lone_surrogates, ids)):
        return '"ids" contains half of a surrogate pair'
    return Entity(start, end, label, score, tuple(ids))


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _has_lone_surrogates(text: str) -> bool:
    """Returns whether the text has lone surrogates (\\ud800 in JSON), which UTF-8 cannot encode."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def _json_type(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")
