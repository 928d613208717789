"""Reading a terminology for walks: what is read, and what is refused with its file and line."""

from __future__ import annotations

import lzma
import re

import pytest

from adaptner.cli.vectors.terminology import read_concepts
from adaptner.errors import AdaptnerError, BadTerminology, DamagedArchive, WrongEncoding
from adaptner.vectors.walks import Concept

HEADER = b"id\tname\tsynonyms\tparents\tnote\n"
ROWS = HEADER + b'D1\tA "b"\tx|y, z||\t\t\nD2\tc\xc3\xa9\t\tD1|D9\tC01|C02\n'
EXPECTED = [Concept("D1", 'A "b"', ["x", "y, z"], []), Concept("D2", "cé", [], ["D1", "D9"])]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", ROWS),
        ("t.tsv.xz", lzma.compress(ROWS)),
        ("t.tsv", ROWS.replace(b"\n", b"\r\n")),
        ("t.tsv", ROWS.removesuffix(b"\n")),
    ],
)
def test_plain_and_compressed_files_give_the_same_concepts(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert list(read_concepts(tmp_path / name)) == EXPECTED


@pytest.mark.parametrize(
    ("content", "line", "error", "message"),
    [
        (b"", None, BadTerminology, "no concepts"),
        (HEADER, None, BadTerminology, "no concepts"),
        (b"D1\tname\t\t\t\n", 1, BadTerminology, "is not its header"),
        (HEADER + b"D1\tname\n", 2, BadTerminology, "2 column(s) instead of 5"),
        (ROWS + b"\n", 4, BadTerminology, "1 column(s) instead of 5"),
        (ROWS + b"D3\ta\tb\tc\td\te\n", 4, BadTerminology, "6 column(s)"),
        (ROWS + b"D3\t \t\t\t\n", 4, BadTerminology, "no id or no name"),
        (ROWS + b"\tname\t\t\t\n", 4, BadTerminology, "no id or no name"),
        (ROWS + b"D1\tname\t\t\t\n", 4, BadTerminology, "the id D1 is also in line 2"),
        (ROWS + b"D3\tna\xefve\t\t\t\n", 4, WrongEncoding, "not valid UTF-8"),
    ],
)
def test_malformed_lines_raise_with_their_number(tmp_path, content, line, error, message):
    file = tmp_path / "t.tsv"
    file.write_bytes(content)
    with pytest.raises(error, match=re.escape(message)) as caught:
        list(read_concepts(file))
    assert (caught.value.file, caught.value.line) == (str(file), line)


def test_truncated_archive_and_missing_file_raise(tmp_path):
    (tmp_path / "t.tsv.xz").write_bytes(lzma.compress(ROWS)[:-9])
    with pytest.raises(DamagedArchive):
        list(read_concepts(tmp_path / "t.tsv.xz"))
    with pytest.raises(AdaptnerError):
        list(read_concepts(tmp_path / "none.tsv"))
