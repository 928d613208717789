"""Tests of documents in chunks, and of limits for lines and sentences."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptner import formats
from adaptner.errors import (
    AdaptnerError,
    EmptyFile,
    LineTooLong,
    NulCharacter,
    SentenceTooLong,
    WrongEncoding,
)
from adaptner.formats import conll, lines
from adaptner.formats.chunks import GROUP_CHARACTERS, DocumentChunk, group_chunks, split_document
from adaptner.formats.jsonl import JsonLinesFormat
from adaptner.formats.text import PlainTextFormat
from adaptner.text.chunks import CHUNK_CHARACTERS
from adaptner.types import Document, Entity

AWKWARD = 'Quotes " and \\ and\ttabs\r\n, \x07\x1f, µ, 漢字, 🧬, \u2028. '


# --- writing ----------------------------------------------------------------------------------------


def test_document_written_in_chunks_equals_the_whole_document(tmp_path):
    pieces = [AWKWARD, "HeLa " * 3, "", "the end"]
    text = "".join(pieces)
    starts = [sum(map(len, pieces[:i])) for i in range(len(pieces))]
    entity = Entity(0, 4, "Cell", 0.5)
    chunks = [
        DocumentChunk(
            Document(piece, (entity,) if len(piece) > 4 else (), "PMID 1"),
            start,
            piece == "the end",
        )
        for piece, start in zip(pieces, starts, strict=True)
    ]
    whole = Document(text, tuple(entity.shifted(s) for s in (0, starts[1], starts[3])), "PMID 1")
    JsonLinesFormat().write_chunks(
        [DocumentChunk(Document("Before.")), *chunks, DocumentChunk(Document("After."))],
        tmp_path / "a.jsonl",
    )
    JsonLinesFormat().write([Document("Before."), whole, Document("After.")], tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert list(formats.read(tmp_path / "a.jsonl"))[1] == whole


def test_exception_while_writing_chunks_leaves_no_file(tmp_path):
    def chunks():
        yield DocumentChunk(Document("First chunk. "), last=False)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        JsonLinesFormat().write_chunks(chunks(), tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


# --- splitting -------------------------------------------------------------------------------------------


def test_pretokenised_document_is_one_chunk():
    text = "word. " * CHUNK_CHARACTERS
    spans = tuple((start, start + 5) for start in range(0, len(text), 6))
    assert list(split_document(Document(text, token_spans=spans))) == [
        DocumentChunk(Document(text, token_spans=spans))
    ]


def test_groups_are_bounded_in_characters_and_documents():
    many = [DocumentChunk(Document("")) for _ in range(5000)]
    assert max(map(len, group_chunks(many))) <= 1000
    long = list(split_document(Document("A sentence of six words or so. " * 40_000)))
    groups = list(group_chunks(long))
    assert [chunk for group in groups for chunk in group] == long
    assert max(sum(len(c.document.text) for c in group) for group in groups) < 2 * GROUP_CHARACTERS


# --- reading -------------------------------------------------------------------------------------------


def test_chunks_of_a_text_file_are_its_content(tmp_path):
    text = "  " + (AWKWARD + "A sentence. Another one.\n") * 10_000
    file = tmp_path / "a.txt"
    file.write_bytes(text.encode())
    chunks = list(PlainTextFormat().read_chunks(file))
    assert len(chunks) > 5
    assert "".join(chunk.document.text for chunk in chunks) == text
    start = 0
    for chunk in chunks:
        assert chunk.start == start
        start += len(chunk.document.text)
    assert [chunk.last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert list(formats.read(file)) == [Document(text)]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200))
def test_line_blocks_cover_the_file_and_do_not_split_characters(text):
    raw = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", 7)
        blocks = list(lines.line_blocks(io.BytesIO(raw)))
    assert b"".join(block for _, _, block in blocks) == raw
    for _, _, block in blocks:
        block.decode()  # raises if a character is split
    line, size = 1, 0
    for number, offset, block in blocks:
        assert (number, offset) == (line, size)
        line, size = (line + 1, 0) if block.endswith(b"\n") else (line, size + len(block))


@pytest.mark.parametrize(
    ("content", "error", "position"),
    [
        (b"x" * 200_000 + b"\xff end", WrongEncoding, 200_001),
        (b"x" * 200_000 + b"\0 end", NulCharacter, 200_001),
        ("é".encode() * 100_000 + b"\xc3", WrongEncoding, 200_001),
        (b" \n" * 100_000, EmptyFile, None),
    ],
)
def test_error_deep_in_a_long_line_is_located_and_no_chunk_is_read(
    tmp_path, content, error, position
):
    file = tmp_path / "a.txt"
    file.write_bytes(content)
    problems: list[AdaptnerError] = []
    assert list(PlainTextFormat().read_chunks(file, problems.append)) == []
    (problem,) = problems
    assert isinstance(problem, error)
    assert problem.facts.get("position") == position


@pytest.mark.parametrize("name", ["a.jsonl", "a.conll"])
def test_line_too_long_is_reported_and_the_rest_is_read(tmp_path, monkeypatch, name):
    for module in (lines, conll):
        monkeypatch.setattr(module, "MAX_LINE_BYTES", 1000)
    good = {"a.jsonl": b'{"text": "One."}\n', "a.conll": b"One\tO\n\n"}[name]
    long = {"a.jsonl": json.dumps({"text": "x" * 200_000}).encode(), "a.conll": b"x" * 200_000}[
        name
    ]
    file = tmp_path / name
    file.write_bytes(good * 2 + long + b"\n\n" + good)
    problems: list[AdaptnerError] = []
    documents = [
        p.document.text
        for p in formats.find_format(file).read_with_lines(file, on_problem=problems.append)
    ]
    assert len(documents) == 3
    (problem,) = problems
    assert isinstance(problem, LineTooLong)
    assert problem.line == (3 if name == "a.jsonl" else 5)
    assert ".txt" in str(problem)


def test_conll_sentence_too_long_is_reported_and_the_rest_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(conll, "MAX_SENTENCE_TOKENS", 100)
    file = tmp_path / "a.conll"
    file.write_text("ok\tO\n\n" + "word\tO\n" * 101 + "\n" + "last\tO\n" * 100)
    problems: list[AdaptnerError] = []
    documents = [
        p.document
        for p in formats.find_format(file).read_with_lines(file, on_problem=problems.append)
    ]
    assert [len(d.token_spans or ()) for d in documents] == [1, 100]
    (problem,) = problems
    assert isinstance(problem, SentenceTooLong)
    assert problem.line == 3
    assert "blank lines" in str(problem)
