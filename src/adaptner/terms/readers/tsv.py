"""The TSV layout: a line a concept, with id, name, synonyms, parents and a note.

Synonyms and parents are joined by ``|``. A note such as "R2 N5" gives the scopes of synonyms: the
second is related and the fifth narrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from adaptner.errors import BadConcept, WrongFieldCount
from adaptner.terms.concepts import Concept, make_concept, with_prefix
from adaptner.terms.readers.files import numbered_lines, open_binary, prefix_for, unique_concepts

HEADER = "id\tname\tsynonyms\tparents\tnote"
_FIELDS = HEADER.count("\t") + 1
# No leading zero: "B02" is a tree number of MeSH.
_SCOPES = re.compile(r"(?:[RNB][1-9][0-9]{0,5}(?: |$))+")
_MESH_DESCRIPTOR = re.compile(r"\bD\d{6,9}\b")


def read(path: str | Path) -> Iterator[Concept]:
    """Yields the concepts; an id that occurs twice is found after the last of them."""
    path = Path(path)
    with open_binary(path) as file:
        yield from unique_concepts(lambda: _numbered_concepts(file, path), path)


def _numbered_concepts(file: BinaryIO, path: Path) -> Iterator[tuple[int, Concept]]:
    prefix = prefix_for(path)
    for number, line in numbered_lines(file, path):
        if not line or line == HEADER:
            continue
        fields = line.split("\t")
        if len(fields) != _FIELDS:
            raise WrongFieldCount(
                file=path,
                line=number,
                found=len(fields),
                expected=_FIELDS,
                remedy="give id, name, synonyms, parents, and note, each separated by one tab",
            )
        id, name, joined, parents, note = (field.strip() for field in fields)
        if not id or not name:
            reason = "it has no id" if name else "it has no name"
            raise BadConcept(file=path, line=number, reason=reason)
        synonyms = joined.split("|") if joined else []
        scopes = _scopes(note, len(synonyms))
        yield (
            number,
            make_concept(
                with_prefix(id, prefix),
                name,
                zip(synonyms, scopes or "E" * len(synonyms), strict=True),
                (with_prefix(parent, prefix) for parent in _split_parents(parents, prefix)),
                "" if scopes else note,
            ),
        )


def _scopes(note: str, synonyms: int) -> str:
    """Returns "ERE" for "R2" and three synonyms, or "" if the note does not give scopes."""
    if not _SCOPES.fullmatch(note):
        return ""
    scopes = ["E"] * synonyms
    for item in note.split():
        if int(item[1:]) > synonyms:
            return ""
        scopes[int(item[1:]) - 1] = item[0]
    return "".join(scopes)


def _split_parents(parents: str, prefix: str) -> list[str]:
    # Supplementary concepts of MeSH have commas between parents, and one of them has names here.
    if prefix == "MESH":
        return _MESH_DESCRIPTOR.findall(parents)
    return parents.split("|") if parents else []
