"""Tests of opening and decoding files, which all formats share, and of format detection."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from adaptner import formats
from adaptner.errors import (
    EmptyFile,
    FileMissing,
    FileUnreadable,
    NulCharacter,
    UnknownFormat,
    WrongEncoding,
)

GOOD = {
    "conll": b"We\tO\nsaw\tO\nTP53\tB-Gene\n\n",
    "jsonl": b'{"text": "We saw TP53", "entities": [{"start": 7, "end": 11, "label": "Gene"}]}\n',
    "text": b"We saw TP53\n",
}
every_format = pytest.mark.parametrize("name", sorted(GOOD))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


@every_format
def test_empty_or_blank_file_raises(file, name):
    for content in (b"", b"\n \r\n\t\n", b"\xef\xbb\xbf"):
        file.write_bytes(content)
        with pytest.raises(EmptyFile, match="file: the file contains no sentences"):
            list(formats.read(file, name))


@every_format
def test_wrong_encoding_raises_with_line_and_position(file, name):
    file.write_bytes(GOOD[name] + b"\n\ncaf\xe9 O\n")
    line = GOOD[name].count(b"\n") + 3
    with pytest.raises(WrongEncoding, match=rf"file:{line}: .*byte 0xe9 at position 4"):
        list(formats.read(file, name))


@every_format
def test_utf16_raises_with_its_name(file, name):
    file.write_bytes(GOOD[name].decode().encode("utf-16"))
    with pytest.raises(WrongEncoding, match="UTF-16"):
        list(formats.read(file, name))


@every_format
def test_nul_character_raises(file, name):
    file.write_bytes(GOOD[name] + b"\n\na\0 O\n")
    with pytest.raises(NulCharacter, match="position 2"):
        list(formats.read(file, name))


@every_format
def test_byte_order_mark_and_windows_line_endings_are_accepted(file, name):
    file.write_bytes(GOOD[name])
    (plain,) = formats.read(file, name)
    file.write_bytes(b"\xef\xbb\xbf" + GOOD[name].replace(b"\n", b"\r\n"))
    (other,) = formats.read(file, name)
    assert other.entities == plain.entities
    assert other.text.rstrip("\r\n") == plain.text.rstrip("\n")


@every_format
def test_missing_file_and_folder_raise(tmp_path, name):
    with pytest.raises(FileMissing, match="nowhere"):
        list(formats.read(tmp_path / "nowhere", name))
    with pytest.raises(FileUnreadable):
        list(formats.read(tmp_path, name))


@every_format
def test_pipes_can_be_read(file, name):
    os.mkfifo(file)
    writer = threading.Thread(target=file.write_bytes, args=[GOOD[name]])
    writer.start()
    (document,) = formats.read(file, name)
    writer.join()
    assert document.text.rstrip("\n") == "We saw TP53"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.conll", "conll"),
        ("a.tsv", "conll"),
        ("a.IOB", "conll"),
        ("a.bio", "conll"),
        ("a.iob2", "conll"),
        ("b/a.b.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.txt", "text"),
    ],
)
def test_file_ending_determines_the_format(path, name):
    assert formats.detect_format(path) == name


def test_unknown_format_raises_with_the_known_ones():
    for path, name in (("a.docx", None), ("noending", None), ("-", None), ("a.conll", "xml")):
        with pytest.raises(UnknownFormat, match=r"conll \(\.conll .*jsonl"):
            formats.read(path, name)
