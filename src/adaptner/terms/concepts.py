"""Concepts: what every reader of a terminology makes of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Prefixes of the files whose identifiers have none; other files give their name.
PREFIXES = {
    "cellosaurus": "Cellosaurus",
    "drugbank-names": "DrugBank",
    "foodon": "FOODON",
    "interpro": "InterPro",
    "mesh": "MESH",
    "mesh-supplementary": "MESH",
    "mirbase": "miRBase",
    "ncbi-taxonomy": "NCBITaxon",
    "pfam": "Pfam",
}

_CURIE = re.compile(r"[A-Za-z][\w.-]*:\S")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True)
class Concept:
    """A thing with its names, as a terminology lists it.

    ``id`` and ``parents`` have a prefix ("MESH:D003920"). ``scopes`` has a letter for each synonym
    (E exact, R related, N narrow, B broad), or is "" if all are exact.
    """

    id: str
    name: str
    synonyms: tuple[str, ...]
    parents: tuple[str, ...]
    note: str = ""
    scopes: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.synonyms)


def make_concept(
    id: str,
    name: str,
    synonyms: Iterable[tuple[str, str]] = (),
    parents: Iterable[str] = (),
    note: str = "",
) -> Concept:
    """Returns a concept with each name once; ``synonyms`` are pairs of a name and its scope.

    Control characters and white space in names become single spaces.
    """
    name = clean_name(name)
    scope_of: dict[str, str] = {}
    for synonym, scope in synonyms:
        synonym = clean_name(synonym)
        # A synonym that is listed as exact and as related is exact.
        if synonym and synonym != name and (scope == "E" or synonym not in scope_of):
            scope_of[synonym] = scope
    scopes = "".join(scope_of.values())
    return Concept(
        id,
        name,
        tuple(scope_of),
        tuple(dict.fromkeys(parents)),
        note,
        scopes if scopes.strip("E") else "",
    )


def clean_name(name: str) -> str:
    """Returns the name with control characters and white space as single spaces."""
    if not name.isprintable():
        name = _CONTROL.sub(" ", name)
    return " ".join(name.split())


def with_prefix(identifier: str, prefix: str) -> str:
    """Returns "MESH:D003920" for "D003920"; identifiers that have a prefix keep it."""
    return identifier if _CURIE.match(identifier) else f"{prefix}:{identifier}"
