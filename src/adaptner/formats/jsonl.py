"""JSON Lines: one object a line, with a text and its entities at code-point offsets."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from adaptner.errors import AdaptnerError, BadEntity, BadJson, EmptyFile
from adaptner.formats.base import LocatedDocument, LocatingReader, RepairCallback, ignore_repairs
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


class JsonLinesFormat(LocatingReader):
    """``{"text": ..., "entities": [{"start": 0, "end": 4, "label": "Gene"}], "id": ...}``.

    An entity may have a ``score``; ``token_spans`` ([[start, end], ...]) is there where the file a
    document comes from fixed its tokens (CoNLL), so that they survive the way there and back.
    Other keys are not ours and are passed over.
    """

    name = "jsonl"
    endings: tuple[str, ...] = (".jsonl", ".ndjson")

    def read_with_lines(
        self,
        path: str | Path,
        report: RepairCallback = ignore_repairs,
        problems: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        empty = True
        with open_for_reading(path) as file:
            for number, raw in bounded_lines(file):
                try:
                    line = decode_line(raw, path, number)
                    if not line.strip():
                        continue
                    empty = False
                    document = _Line(path, number, problems).document(line)
                except AdaptnerError as problem:
                    empty = False
                    problems(problem)
                    continue
                if document is not None:
                    yield LocatedDocument(number, document)
        if empty:
            problems(EmptyFile(file=path, unit="line of JSON"))

    def write(self, documents: Iterable[Document], path: str | Path) -> None:
        self.write_chunks(map(DocumentChunk, documents), path)

    def write_chunks(self, parts: Iterable[DocumentChunk], path: str | Path) -> None:
        """The same for documents that come in parts: nothing is held but the part in hand."""
        with open_for_writing(path) as file:
            write_json_lines(parts, file)


def write_json_lines(parts: Iterable[DocumentChunk], file: IO[str]) -> None:
    each = iter(parts)
    for first in each:
        if first.last:
            file.write(_json(_as_object(first.document)) + "\n")
        else:
            _write_in_parts(first, each, file)


def _write_in_parts(first: DocumentChunk, others: Iterator[DocumentChunk], file: IO[str]) -> None:
    """One line as above. The text stands before the entities, so these wait in a file of their own."""
    identifier = f'"id": {_json(first.document.id)}, ' if first.document.id else ""
    file.write(f'{{{identifier}"text": "')
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n") as entities:
        between = ""
        part = first
        while True:
            file.write(_json(part.document.text)[1:-1])  # without its quotes
            for entity in part.document.entities:
                entities.write(between + _json(_entity_object(entity, part)))
                between = ", "
            if part.last:
                break
            part = next(others)
        file.write('", "entities": [')
        entities.seek(0)
        shutil.copyfileobj(entities, file)
        file.write("]}\n")


def _as_object(document: Document) -> dict[str, Any]:
    whole = DocumentChunk(document)
    result: dict[str, Any] = {"id": document.id} if document.id else {}
    entities = [_entity_object(e, whole) for e in document.entities]
    result |= {"text": document.text, "entities": entities}
    if document.token_spans is not None:
        result["token_spans"] = document.token_spans
    return result


def _entity_object(entity: Entity, part: DocumentChunk) -> dict[str, Any]:
    place = {"start": part.start + entity.start, "end": part.start + entity.end}
    # the mention is there for human readers; reading, it is derived from the text
    result = {**place, "text": entity.text_in(part.document.text), "label": entity.label}
    return result if entity.score is None else {**result, "score": entity.score}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class _Line:
    """One line on its way to a document."""

    def __init__(self, path: str | Path, number: int, problems: ProblemCallback) -> None:
        self._path = path
        self._number = number
        self._problems = problems

    def document(self, line: str) -> Document | None:
        """The document, or None where an entity was at fault and ``problems`` did not raise."""
        value = self._object(line)
        text = self._string(value, "text")
        spans = self._token_spans(value.get("token_spans"), text)
        listed = value.get("entities", [])
        if not isinstance(listed, list):
            raise self._bad(f'"entities" is {_kind(listed)}, not a list')
        entities, faults = [], 0
        for number, item in enumerate(listed, start=1):
            reason, entity = _entity(item, len(text))
            if entity is None:
                faults += 1
                self._problems(
                    BadEntity(file=self._path, line=self._number, number=number, reason=reason)
                )
            else:
                entities.append(entity)
        identifier = value.get("id", "")
        if not isinstance(identifier, str | int) or isinstance(identifier, bool):
            raise self._bad(f'"id" is {_kind(identifier)}, not a string')
        return None if faults else Document(text, tuple(entities), str(identifier), spans)

    def _object(self, line: str) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise self._bad(f"{error.msg} at character {error.pos + 1}") from error
        except (ValueError, RecursionError) as error:
            raise self._bad("a number or a nesting beyond all measure") from error
        if not isinstance(value, dict):
            raise self._bad(f"it is {_kind(value)}")
        return value

    def _string(self, value: dict[str, Any], key: str) -> str:
        if key not in value:
            raise self._bad(f'"{key}" is missing')
        text = value[key]
        if not isinstance(text, str):
            raise self._bad(f'"{key}" is {_kind(text)}, not a string')
        if _half_characters(text):
            raise self._bad(f'"{key}" holds half of a surrogate pair')
        return text

    def _token_spans(self, listed: object, text: str) -> tuple[Span, ...] | None:
        if listed is None:
            return None
        spans: list[Span] = []
        after = 0
        for pair in listed if isinstance(listed, list) else [None]:
            if not (
                isinstance(pair, list)
                and len(pair) == 2
                and all(_is_int(n) for n in pair)
                and after <= pair[0] < pair[1] <= len(text)
            ):
                raise self._bad('"token_spans" is no list of rising [start, end] within the text')
            spans.append((pair[0], pair[1]))
            after = pair[1]
        return tuple(spans)

    def _bad(self, reason: str) -> BadJson:
        return BadJson(file=self._path, line=self._number, reason=reason)


def _entity(item: object, length: int) -> tuple[str, Entity | None]:
    """The entity, or the reason why it is none."""
    if not isinstance(item, dict):
        return f"it is {_kind(item)}, not an object", None
    for key in ("start", "end", "label"):
        if key not in item:
            return f'"{key}" is missing', None
    start, end, label, score = item["start"], item["end"], item["label"], item.get("score")
    if not (_is_int(start) and _is_int(end)):
        return '"start" and "end" must be whole numbers', None
    if not isinstance(label, str) or not label.strip() or _half_characters(label):
        return '"label" must be a non-empty string', None
    if not 0 <= start < end <= length:
        return f"{start}-{end} is not a stretch of the text of {length} characters", None
    if score is not None:
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        if not is_number or not math.isfinite(score):
            return '"score" must be a number', None
        score = float(score)
    return "", Entity(start, end, label, score)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _half_characters(text: str) -> bool:
    """JSON can spell lone surrogates (\\ud800), which no file could then hold."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    return "null" if value is None else kinds.get(type(value), "a number")
