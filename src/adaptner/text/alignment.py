"""Splits documents into tokenised sentences and checks that entities lie on token boundaries."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from adaptner.errors import AdaptnerError, BadEntity, EntityOffTokens, OverlappingEntities
from adaptner.text.sentences import split_sentences
from adaptner.text.tokenizer import tokenize
from adaptner.types import Document, Entity, Sentence, Span


def to_sentences(
    document: Document, file: str | Path | None = None, line: int | None = None
) -> list[Sentence]:
    """Returns the tokenised sentences of ``document``; a pre-tokenised document is one sentence.

    Raises the first of ``find_problems``, which names ``file`` and ``line``.
    """
    tokens = _token_spans(document)
    for problem in _problems(document, tokens, file, line):
        raise problem
    entities = sorted(document.entities, key=_span)
    if document.token_spans is not None:
        return [Sentence(document.text, tuple(tokens), tuple(entities))] if tokens else []
    sentences = []
    spans = split_sentences(document.text, [(e.start, e.end) for e in entities])
    token = entity = 0
    for start, end in spans:
        next_token = bisect_left(tokens, (end, end), lo=token)
        next_entity = entity
        while next_entity < len(entities) and entities[next_entity].start < end:
            next_entity += 1
        sentences.append(
            Sentence(
                document.text[start:end],
                tuple((a - start, b - start) for a, b in tokens[token:next_token]),
                tuple(e.shifted(-start) for e in entities[entity:next_entity]),
                start,
            )
        )
        token, entity = next_token, next_entity
    return sentences


def find_problems(
    document: Document, file: str | Path | None = None, line: int | None = None
) -> list[AdaptnerError]:
    """Returns an error for each entity that is out of range, off the tokens, or overlapping."""
    return list(_problems(document, _token_spans(document), file, line))


def _span(entity: Entity) -> Span:
    return entity.start, entity.end


def _token_spans(document: Document) -> Sequence[Span]:
    return tokenize(document.text) if document.token_spans is None else document.token_spans


def _problems(
    document: Document, tokens: Sequence[Span], file: str | Path | None, line: int | None
) -> Iterator[AdaptnerError]:
    if not document.entities:
        return
    text = document.text
    starts, ends = [a for a, _ in tokens], [b for _, b in tokens]
    token_starts, token_ends = set(starts), set(ends)
    in_range: list[Entity] = []
    for number, entity in enumerate(document.entities, start=1):
        if reason := _out_of_range(entity, len(text)):
            yield BadEntity(file=file, line=line, number=number, reason=reason)
            continue
        if entity.start in token_starts and entity.end in token_ends:
            in_range.append(entity)
            continue
        first = bisect_right(ends, entity.start)
        last = bisect_left(starts, entity.end) - 1
        if first > last:
            reason = f"{entity.start}-{entity.end} contains only white space"
            yield BadEntity(file=file, line=line, number=number, reason=reason)
            continue
        in_range.append(entity)
        new_start, new_end = starts[first], ends[last]
        yield EntityOffTokens(
            file=file,
            line=line,
            number=number,
            mention=entity.text_in(text),
            start=entity.start,
            end=entity.end,
            suggestion=text[new_start:new_end],
            new_start=new_start,
            new_end=new_end,
        )
    yield from _overlaps(text, sorted(in_range, key=_span), file, line)


def _out_of_range(entity: Entity, length: int) -> str:
    if not entity.label:
        return "its label is empty"
    if entity.start >= entity.end:
        return f"its start {entity.start} is not before its end {entity.end}"
    if entity.start < 0 or entity.end > length:
        return f"{entity.start}-{entity.end} is outside the text of {length} characters"
    return ""


def _overlaps(
    text: str, sorted_entities: Sequence[Entity], file: str | Path | None, line: int | None
) -> Iterator[AdaptnerError]:
    furthest: Entity | None = None
    for entity in sorted_entities:
        if furthest is not None and entity.start < furthest.end:
            yield OverlappingEntities(
                file=file,
                line=line,
                first=furthest.text_in(text),
                first_span=f"{furthest.start}-{furthest.end}",
                second=entity.text_in(text),
                second_span=f"{entity.start}-{entity.end}",
            )
        if furthest is None or entity.end > furthest.end:
            furthest = entity
