"""Tests of users' own lists."""

from __future__ import annotations

import csv
import random
import tracemalloc
from pathlib import Path

import pytest

from adaptner.errors import (
    BadConcept,
    BadQuotes,
    LoneCarriageReturn,
    NoNames,
    NulCharacter,
    WrongEncoding,
    WrongFieldCount,
)
from adaptner.terms.concepts import Concept
from adaptner.terms.readers import name_list


def read(path: Path, text: str, encoding: str = "utf-8") -> list[Concept]:
    path.write_bytes(text.encode(encoding))
    return list(name_list.read(path))


def concept(id: str, name: str, *synonyms: str, note: str = "") -> Concept:
    return Concept(id, name, synonyms, (), note)


# --- a name a line ------------------------------------------------------------------------------------


def test_text_has_a_name_a_line(tmp_path):
    text = "# fevers\nmoss fever\n\n  sand\tfever \r\nQ fever #2\n"
    assert read(tmp_path / "a.txt", text) == [
        concept("LIST:moss_fever", "moss fever"),
        concept("LIST:sand_fever", "sand fever"),
        concept("LIST:Q_fever_#2", "Q fever #2"),
    ]


def test_name_on_two_lines_is_one_concept(tmp_path):
    assert [c.name for c in read(tmp_path / "a.txt", "a\nb\na\n")] == ["b", "a"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_byte_order_mark_tells_the_encoding(tmp_path, encoding):
    mark = "\ufeff" if encoding.endswith("e") else ""
    names = [c.name for c in read(tmp_path / "a.txt", f"{mark}naïve β\r\nzwei\r\n", encoding)]
    assert names == ["naïve β", "zwei"]


# --- tables -------------------------------------------------------------------------------------------


def test_table_without_header_has_name_id_synonyms_and_kind(tmp_path):
    text = "moss fever\nsand fever,7\nred fever,X:8,rf| r. fever |red fever\nx,,,Disease\n"
    assert read(tmp_path / "fevers.csv", text) == [
        concept("LIST:moss_fever", "moss fever"),
        concept("fevers:7", "sand fever"),
        concept("X:8", "red fever", "rf", "r. fever"),
        concept("LIST:x", "x", note="kind=Disease"),
    ]


def test_header_names_columns_in_any_order(tmp_path):
    text = "# ours\nSynonyms;Remark;ID;Name\na|b;of no use;X:1;c\n"
    assert read(tmp_path / "a.csv", text) == [concept("X:1", "c", "a", "b")]


def test_quoted_cells_may_hold_commas_quotes_and_line_breaks(tmp_path):
    text = 'name,id\r\n"Smith, ""Jo""\r\nJr",X:1\r\n5" pipe,X:2\r\n'
    assert [c.name for c in read(tmp_path / "a.csv", text)] == ['Smith, "Jo" Jr', '5" pipe']


def test_tab_separated_cells_lose_only_the_quotes_around_them(tmp_path):
    text = '"a ""b"" c"\tX:1\n"a" and "b"\tX:2\n5" pipe\tX:3\n'
    names = [c.name for c in read(tmp_path / "a.tsv", text)]
    assert names == ['a "b" c', '"a" and "b"', '5" pipe']


def test_prefix_from_the_name_of_the_file_has_no_spaces(tmp_path):
    assert read(tmp_path / "my own fevers.csv", "a,7\n")[0].id == "my_own_fevers:7"


def test_lines_with_the_same_id_are_united(tmp_path):
    text = "b,X:1,c,Sign\nd,X:2\ne,X:1,b|f,Symptom\n"
    assert read(tmp_path / "a.csv", text) == [
        concept("X:2", "d"),
        concept("X:1", "b", "c", "e", "f", note="kind=Sign;kind=Symptom"),
    ]


def test_what_the_csv_module_writes_is_read_back(tmp_path):
    draw = random.Random(3)
    names = sorted({"".join(draw.choices('ab,"; \n', k=9)).strip() for _ in range(300)})
    rows = [(name, f"X:{i}") for i, name in enumerate(names) if name and name.split() == [name]]
    with open(tmp_path / "a.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("name", "id"), *rows])
    assert [(c.name, c.id) for c in name_list.read(tmp_path / "a.csv")] == rows


# --- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "error", "message"),
    [
        ("a.txt", "", NoNames, "no names"),
        ("a.csv", "name,id\n", NoNames, "no names"),
        ("a.txt", "# only a comment\n\n", NoNames, "no names"),
        ("a.txt", "a\rb\n", LoneCarriageReturn, "a.txt:1: "),
        ("a.txt", "a\nb\0\n", NulCharacter, "a.txt:2: "),
        ("a.csv", "a,X:1,b,Sign,more\n", WrongFieldCount, r"a.csv:1: 5 field\(s\), but at most 4"),
        ("a.csv", "name,id\na,X:1\nb, c,X:2\n", WrongFieldCount, r"a.csv:3: 3 field\(s\)"),
        ("a.csv", "a,X:1\n,X:2\n", BadConcept, "a.csv:2: .* no name"),
        ("a.csv", "fever,raised temperature\n", BadConcept, "'raised temperature' .* is no id"),
        ("a.csv", "id,synonyms\nX:1,a\n", BadConcept, "no columns of the type 'name'"),
        ("a.csv", "name,term\na,b\n", BadConcept, "2 columns of the type 'name'"),
        ("a.csv", 'a,X:1\n"b,X:2\nc,X:3\n', BadQuotes, "a.csv:2: "),
        ("a.csv", 'a,X:1\n"b"c,X:2\n', BadQuotes, "a.csv:2: "),
    ],
)
def test_bad_list_is_an_error_with_its_line(tmp_path, file, text, error, message):
    with pytest.raises(error, match=message):
        read(tmp_path / file, text)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("fine\nna\xefve\n".encode("latin-1"), 2),
        ("\ufefffine\nna".encode("utf-16-le") + b"\x00\xd8\x41", 2),
        ("\ufefffine\nna".encode("utf-16-le") + b"\x00\xd8a\0\n\0b\0\n\0", 2),
        ("\ufefffine\nna\n".encode("utf-16-be") + b"\0", 3),
    ],
)
def test_undecodable_byte_is_an_error_with_its_line_and_iconv(tmp_path, content, line):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(WrongEncoding, match=rf"a\.txt:{line}: (.|\n)*iconv"):
        list(name_list.read(path))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_list(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"name {i}\n" for i in range(200_000)), encoding="utf-8")
    tracemalloc.start()
    assert sum(1 for _ in name_list.read(path)) == 200_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12_000_000  # its strings alone would take 13 MB
