"""Tests of the front that detects the layout of a file, and of compressed and unreadable files."""

from __future__ import annotations

import gzip
import lzma
import random

import pytest

from adaptner.errors import (
    AdaptnerError,
    DamagedArchive,
    FileMissing,
    FileUnreadable,
    InputError,
    NoNames,
    UnknownFormat,
)
from adaptner.terms.readers import read_concepts

TSV = "id\tname\tsynonyms\tparents\tnote\nX:1\tmoss fever\t\t\t\n"


@pytest.mark.parametrize(
    ("file", "text", "id"),
    [
        ("a.tsv", TSV, "X:1"),
        ("a.txt", TSV, "X:1"),
        ("a", TSV, "X:1"),
        ("a.tsv", "moss fever\tX:2\n", "X:2"),
        ("a.csv", "moss fever,X:3\n", "X:3"),
        ("A.TXT", "moss fever\n", "LIST:moss_fever"),
    ],
)
@pytest.mark.parametrize("compress", [None, gzip.compress, lzma.compress])
def test_content_and_ending_tell_the_layout(tmp_path, file, text, id, compress):
    content = text.encode()
    path = tmp_path / file
    if compress:
        content = compress(content)
        path = tmp_path / f"{file}.{'gz' if compress is gzip.compress else 'xz'}"
    path.write_bytes(content)
    (concept,) = read_concepts(path)
    assert (concept.id, concept.name) == (id, "moss fever")


@pytest.mark.parametrize("ending", ["gz", "xz"])
def test_truncated_archive_is_an_error(tmp_path, ending):
    text = "".join(f"name {i * i}\n" for i in range(5000)).encode()
    content = (gzip if ending == "gz" else lzma).compress(text)
    path = tmp_path / f"a.txt.{ending}"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DamagedArchive, match=f"a.txt.{ending}: "):
        list(read_concepts(path))
    path.write_bytes(text)
    with pytest.raises(DamagedArchive):
        list(read_concepts(path))


def test_unusable_path_is_an_error(tmp_path):
    with pytest.raises(FileMissing):
        list(read_concepts(tmp_path / "absent.txt"))
    with pytest.raises(FileUnreadable, match="directory"):
        list(read_concepts(tmp_path))
    (tmp_path / "a.docx").write_bytes(b"words")
    with pytest.raises(UnknownFormat, match=r"\.csv"):
        list(read_concepts(tmp_path / "a.docx"))


@pytest.mark.parametrize("file", ["a.txt", "a.csv", "a.tsv", "a.obo", "a.xml", "d.bin"])
@pytest.mark.parametrize("end", ["", ".gz"])
def test_empty_file_is_an_error(tmp_path, file, end):
    (tmp_path / f"{file}{end}").write_bytes(b"")
    with pytest.raises(NoNames):
        list(read_concepts(tmp_path / f"{file}{end}"))


def test_binary_file_is_an_error(tmp_path):
    for content in (bytes(range(256)), b"PK\x03\x04\x00\x00", gzip.compress(b"fever")):
        for file in ("a.txt", "a.csv", "a.tsv", "a.obo", "a.xml", "d.bin", "a.zip"):
            (tmp_path / file).write_bytes(content)
            with pytest.raises(InputError, match=file):
                list(read_concepts(tmp_path / file))


_VALID = {
    "a.tsv": TSV + "X:2\tsand fever\tsf|s\tX:1\tR1\n",
    "b.tsv": 'name\tid\n"a ""b"\tX:1\nc\tX:2\n',
    "a.csv": 'name,id,synonyms\n"a, b",X:1,c|d\ne,,\n',
    "a.txt": "# fevers\nmoss fever\nsand fever\n",
    "a.obo": 'format-version: 1.2\n\n[Term]\nid: X:1\nname: a\nsynonym: "b" EXACT []\nis_a: X:2 ! c\n',
    "a.xml": "<DescriptorRecordSet><DescriptorRecord><DescriptorUI>D1</DescriptorUI><DescriptorName>"
    "<String>a</String></DescriptorName></DescriptorRecord></DescriptorRecordSet>",
    "d.bin": "*NEWRECORD\nMH = a\nMN = C1\nUI = D1\n\n*NEWRECORD\nMH = b\nUI = D2\n",
}


@pytest.mark.parametrize("file", _VALID)
def test_damaged_file_is_read_or_an_error_for_the_user(tmp_path, file):
    draw = random.Random(file)
    path = tmp_path / file
    path.write_text(_VALID[file], encoding="utf-8")
    assert list(read_concepts(path))
    outcomes = set()
    for _ in range(100):
        content = bytearray(_VALID[file], "utf-8")
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(content))
            content[at : at + draw.randint(0, 3)] = draw.choices(
                b'\0\t\n\r"\\|,;:<&{}[]a\x85\xff\xc3', k=draw.randint(0, 3)
            )
        path.write_bytes(content)
        try:
            assert all(c.id and c.name for c in read_concepts(path))
            outcomes.add("read")
        except AdaptnerError:
            outcomes.add("error")
    assert outcomes == {"read", "error"}
