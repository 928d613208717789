"""Tests of the JSON Lines format: round trips and located errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adaptner import formats
from adaptner.errors import AdaptnerError, BadEntity, BadJson
from adaptner.formats.jsonl import JsonLinesFormat
from adaptner.text.tokenizer import tokenize
from adaptner.types import Document, Entity

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(ANY_TEXT)
    entities = []
    for _ in range(draw(st.integers(0, 3)) if text else 0):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        label = draw(ANY_TEXT.filter(str.strip))
        score = draw(st.none() | st.floats(0, 1))
        entities.append(Entity(start, end, label, score))
    spans = tuple(tokenize(text)) if draw(st.booleans()) else None
    return Document(text, tuple(entities), draw(ANY_TEXT), spans)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.jsonl"


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(documents(), min_size=1, max_size=4))
def test_round_trip(file, given_documents):
    formats.write(given_documents, file)
    assert list(formats.read(file)) == given_documents
    content = file.read_bytes()
    formats.write(formats.read(file), file)  # The target may be the source.
    assert file.read_bytes() == content


def test_optional_keys_are_read_and_unknown_keys_ignored(file):
    file.write_text('{"text": "a", "meta": {"x": 1}, "id": 7}\n\n{"text": "b", "entities": []}\n')
    assert list(formats.read(file)) == [Document("a", id="7"), Document("b")]


def test_offsets_are_code_points(file):
    line = {"text": "🧬 TP53", "entities": [{"start": 2, "end": 6, "label": "G", "score": 1}]}
    file.write_text(
        json.dumps(line)
    )  # written as \\ud83e\\uddec; a surrogate pair is one character
    (document,) = formats.read(file)
    assert document.entities[0].text_in(document.text) == "TP53"
    assert document.entities[0].score == 1.0


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "Expecting value at character 1"),
        ('{"text": "a"', "at character"),
        ("[1]", "it is a list"),
        ("3", "it is a number"),
        ("null", "it is null"),
        ('{"txt": "a"}', '"text" is missing'),
        ('{"text": 3}', '"text" is a number'),
        ('{"text": "\\ud800"}', "surrogate"),
        ('{"text": "a", "entities": {}}', '"entities" is an object'),
        ('{"text": "a", "id": []}', '"id" is a list'),
        ('{"text": "ab", "token_spans": [[0, 2], [1, 2]]}', "token_spans"),
        ('{"text": "ab", "token_spans": [[0, 3]]}', "token_spans"),
        ('{"text": "ab", "token_spans": "ab"}', "token_spans"),
        ("[" * 100_000, "nesting too deep"),
        ('{"text": "a", "n": ' + "9" * 5000 + "}", "number is too long"),
    ],
)
def test_invalid_line_raises_with_its_number(file, line, reason):
    file.write_text('{"text": "fine"}\n' + line + "\n")
    with pytest.raises(BadJson) as caught:
        list(formats.read(file))
    assert caught.value.line == 2
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("entity", "reason"),
    [
        ('{"start": 0, "end": 1}', '"label" is missing'),
        ('{"start": 0, "end": 9, "label": "G"}', "0-9 is not inside the text"),
        ('{"start": 2, "end": 2, "label": "G"}', "not inside the text"),
        ('{"start": -1, "end": 2, "label": "G"}', "not inside the text"),
        ('{"start": "0", "end": 2, "label": "G"}', "whole numbers"),
        ('{"start": 0.0, "end": 2, "label": "G"}', "whole numbers"),
        ('{"start": true, "end": 2, "label": "G"}', "whole numbers"),
        ('{"start": 0, "end": 2, "label": ""}', "non-empty"),
        ('{"start": 0, "end": 2, "label": "G", "score": "high"}', '"score"'),
        ('{"start": 0, "end": 2, "label": "G", "score": NaN}', '"score"'),
        ("[0, 2, 3]", "it is a list"),
    ],
)
def test_invalid_entity_raises_with_line_and_number(file, entity, reason):
    file.write_text('{"text": "TP53", "entities": [' + entity + "]}")
    with pytest.raises(BadEntity) as caught:
        list(formats.read(file))
    assert (caught.value.line, caught.value.facts["number"]) == (1, 1)
    assert reason in str(caught.value)


def test_all_errors_are_reported_and_the_rest_is_read(file):
    bad = '{"text": "a", "entities": [{}, {"start": 0, "end": 1, "label": "G"}, 3]}'
    file.write_text(f'oops\n{bad}\n{{"text": "fine"}}\n')
    reported: list[AdaptnerError] = []
    assert [
        p.line for p in JsonLinesFormat().read_with_lines(file, on_problem=reported.append)
    ] == [3]
    assert [(type(e), e.line) for e in reported] == [(BadJson, 1), (BadEntity, 2), (BadEntity, 2)]


def test_exception_while_writing_leaves_no_file(file):
    def failing():
        yield Document("a")
        raise BadJson(reason="on purpose")

    with pytest.raises(BadJson):
        formats.write(failing(), file)
    assert list(file.parent.iterdir()) == []
