"""Ontologies in OBO format 1.2 or 1.4.

Terms that are obsolete or have no name (imported ids) are left out. The note has the ids of terms that
were merged into this one ("alt_id=X:1|X:2").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from adaptner.errors import BadConcept
from adaptner.terms.concepts import Concept, clean_name, make_concept, with_prefix
from adaptner.terms.readers.files import numbered_lines, open_binary, prefix_for, unique_concepts

ENDINGS = (".obo",)

_TERM = "[Term]"
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": " ", "W": " ", "t": " "}
_SCOPES = {"EXACT": "E", "RELATED": "R", "NARROW": "N", "BROAD": "B"}
_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:(EXACT|RELATED|NARROW|BROAD)\b)?')
_COMMENT = re.compile(r"(?<!\\)\s!\s.*")
_MODIFIERS = re.compile(r'\s\{\w[^"{}]*="(?:[^"\\]|\\.)*"[^{}]*\}\s*$')


@dataclass
class _Term:
    line: int
    id: str = ""
    name: str = ""
    synonyms: list[tuple[str, str]] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    alternative_ids: list[str] = field(default_factory=list)
    obsolete: bool = False


def read(path: str | Path) -> Iterator[Concept]:
    """Yields the concepts; an id that occurs twice is found after the last of them."""
    path = Path(path)
    with open_binary(path) as file:
        yield from unique_concepts(lambda: _numbered_concepts(file, path), path)


def _numbered_concepts(file: BinaryIO, path: Path) -> Iterator[tuple[int, Concept]]:
    prefix = prefix_for(path)
    for term in _terms(file, path):
        if not term.id:
            raise BadConcept(file=path, line=term.line, reason="the term has no id")
        if term.obsolete or not term.name:
            continue
        alternative = "|".join(with_prefix(id, prefix) for id in term.alternative_ids)
        yield (
            term.line,
            make_concept(
                with_prefix(term.id, prefix),
                term.name,
                term.synonyms,
                (with_prefix(parent, prefix) for parent in term.parents),
                f"alt_id={alternative}" if alternative else "",
            ),
        )


def _terms(file: BinaryIO, path: Path) -> Iterator[_Term]:
    term: _Term | None = None
    for number, line in _whole_lines(file, path):
        line = line.strip()
        if line.startswith("["):
            if term:
                yield term
            term = _Term(number) if line.startswith(_TERM) else None
        elif term and line and not line.startswith("!"):
            tag, colon, value = line.partition(":")
            if not colon:
                raise BadConcept(file=path, line=number, reason=f"no tag in {line[:40]!r}")
            _add(term, tag, value.strip(), path, number)
    if term:
        yield term


def _add(term: _Term, tag: str, value: str, path: Path, line: int) -> None:
    if tag == "id":
        term.id = _identifier(value)
    elif tag == "name":
        term.name = clean_name(_unescaped(_MODIFIERS.sub("", _COMMENT.sub("", value))))
    elif tag == "is_a":
        term.parents.append(_identifier(value))
    elif tag == "alt_id":
        term.alternative_ids.append(_identifier(value))
    elif tag == "is_obsolete":
        term.obsolete = value.startswith("true")
    elif tag == "synonym":
        match = _SYNONYM.match(value)
        if not match:
            raise BadConcept(file=path, line=line, reason="a synonym without quotes around it")
        term.synonyms.append((_unescaped(match[1]), _SCOPES[match[2] or "RELATED"]))


def _identifier(value: str) -> str:
    """Returns the value without modifiers and comment."""
    return _unescaped(re.split(r"[\s{!]", value, maxsplit=1)[0])


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda m: _ESCAPES.get(m[1], m[1]), text) if "\\" in text else text


def _whole_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    """Yields lines, joined with the next where they end in a backslash."""
    begun = ""
    for number, line in numbered_lines(file, path):
        if (len(line) - len(line.rstrip("\\"))) % 2:
            begun += line[:-1]
            continue
        yield number, begun + line
        begun = ""
    if begun:
        yield number, begun
