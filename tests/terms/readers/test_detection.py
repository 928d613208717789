"""Tests of the front that detects the layout of a file, and of compressed and unreadable files."""

from __future__ import annotations

import gzip
import lzma

import pytest

from adaptner.errors import DamagedArchive, FileMissing, FileUnreadable, NoNames, UnknownFormat
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


@pytest.mark.parametrize("file", ["a.txt", "a.csv", "a.tsv", "a.txt.gz"])
def test_empty_file_is_an_error(tmp_path, file):
    (tmp_path / file).write_bytes(b"")
    with pytest.raises(NoNames):
        list(read_concepts(tmp_path / file))
