"""A user's own list of names: one a line (.txt), or a table (.csv, .tsv) with further columns.

Without a header line the columns of a table are name, id, synonyms (joined by ``|``) and kind, and the
last ones may be missing. A header may name them in any order; it must have "name", and columns that it
calls something else are not read. Lines that begin with ``#`` are comments.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from adaptner.errors import BadConcept, BadQuotes, NoNames, WrongFieldCount
from adaptner.terms.concepts import Concept, clean_name, make_concept, with_prefix
from adaptner.terms.readers.files import (
    RepeatedIds,
    numbered_lines,
    open_binary,
    plain_name,
    prefix_for,
)

ENDINGS = (".txt", ".csv", ".tsv")
_COLUMNS = {"name": 0, "term": 0, "id": 1, "identifier": 1, "synonyms": 2, "synonym": 2}
_COLUMNS |= {"kind": 3, "type": 3}
_NO_HEADER = (0, 1, 2, 3)
_NOT_IN_ID = re.compile(r"[\s|]")
_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"\s*')

Row = tuple[int, list[str]]  # line number and fields


def read(path: str | Path) -> Iterator[Concept]:
    """Yields the concepts; those whose id is on several lines come last, with all their names.

    The kind becomes the note ("kind=Disease"). A name without an id gets one ("LIST:brain_fever").
    """
    path = Path(path)
    with open_binary(path) as file:
        repeated = RepeatedIds(id for id, *_ in _entries(file, path)).hashes()
        united: dict[str, Concept] = {}
        concept = None
        for id, name, synonyms, kind in _entries(file, path):
            split = ((synonym, "E") for synonym in synonyms.split("|")) if synonyms else ()
            concept = make_concept(id, name, split, note=f"kind={clean_name(kind)}" if kind else "")
            if hash(id) not in repeated:
                yield concept
            else:
                united[id] = _unite(united[id], concept) if id in united else concept
        yield from united.values()
        if concept is None:
            raise NoNames(file=path)


def _unite(first: Concept, second: Concept) -> Concept:
    notes = dict.fromkeys(note for note in (first.note, second.note) if note)
    names = ((name, "E") for name in (*first.synonyms, *second.names))
    return make_concept(first.id, first.name, names, note=";".join(notes))


def _entries(file: BinaryIO, path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yields the id, the name, the joined synonyms and the kind of each line."""
    prefix = prefix_for(path)
    columns: Sequence[int | None] = ()
    for line, row in _rows(file, path):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if not columns:
            columns = _header(cells, path, line) or _NO_HEADER
            if columns is not _NO_HEADER:
                continue
        if len(cells) > len(columns):
            raise WrongFieldCount(
                file=path,
                line=line,
                found=len(cells),
                expected=f"at most {len(columns)}",
                remedy="put names that contain the separator between double quotes",
            )
        fields = ["", "", "", ""]
        for column, cell in zip(columns, cells, strict=False):
            if column is not None:
                fields[column] = cell
        name, id, synonyms, kind = fields
        yield _identifier(id, name, prefix, path, line), name, synonyms, kind


def _identifier(id: str, name: str, prefix: str, path: Path, line: int) -> str:
    name = clean_name(name)
    if not name:
        raise BadConcept(file=path, line=line, reason="it has no name")
    if not id:
        return "LIST:" + name.replace(" ", "_")
    if _NOT_IN_ID.search(id):
        reason = f"{id!r} in the column of ids is no id (the columns are name, id, synonyms, kind)"
        raise BadConcept(file=path, line=line, reason=reason)
    return with_prefix(id, prefix)


def _header(cells: list[str], path: Path, line: int) -> tuple[int | None, ...] | None:
    """Returns the column that each cell names, or None if the line is no header."""
    columns = tuple(_COLUMNS.get(cell.casefold()) for cell in cells)
    known = [column for column in columns if column is not None]
    if known != [0] and len(known) < 2:
        return None
    if cells == ["term"]:  # rather a name
        return None
    for column, title in enumerate(("name", "id", "synonyms", "kind")):
        if (count := known.count(column)) > 1 or (title == "name" and not count):
            reason = f"the header has {count or 'no'} columns of the type {title!r}"
            raise BadConcept(file=path, line=line, reason=reason)
    return columns


def _rows(file: BinaryIO, path: Path) -> Iterator[Row]:
    ending = plain_name(path).suffix.lower()
    if ending == ".csv":
        yield from _csv_rows(file, path)
        return
    for number, line in numbered_lines(file, path):
        yield number, [_unquoted(c) for c in line.split("\t")] if ending == ".tsv" else [line]


def _unquoted(cell: str) -> str:
    """Returns the cell without the quotes that spreadsheets put around it."""
    match = _QUOTED.fullmatch(cell) if '"' in cell else None
    return match[1].replace('""', '"') if match else cell


def _csv_rows(file: BinaryIO, path: Path) -> Iterator[Row]:
    lines = (line for _, line in numbered_lines(file, path))
    first = next((line for line in lines if line.strip() and line[0] != "#"), "")
    # Spreadsheets write semicolons where the comma is the decimal sign.
    delimiter = ";" if ";" in first and "," not in first else ","
    texts = (f"{line}\n" for _, line in numbered_lines(file, path))
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    start = 1
    try:
        for row in reader:
            yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        raise BadQuotes(file=path, line=start, reason=error) from error
