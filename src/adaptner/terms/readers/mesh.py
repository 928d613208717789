"""What the files of MeSH have in common: descriptors in trees, and supplementary concepts.

The concepts are those of ``mesh.tsv`` and ``mesh-supplementary.tsv``, so that another year's files can
take their place: the note has the tree numbers, joined by ``|``; the parents are the descriptors one
level up in each tree, or those that a supplementary concept is mapped to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from adaptner.errors import BadConcept, NoNames
from adaptner.terms.concepts import Concept, make_concept

_PREFIX = "MESH:"


@dataclass
class Record:
    """A record as it is in the file; ``parents`` are known for supplementary concepts only."""

    id: str = ""
    name: str = ""
    synonyms: list[str] = field(default_factory=list)
    tree_numbers: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    line: int | None = None


def descriptor_concepts(records: Iterable[Record], path: Path) -> Iterator[Concept]:
    """Yields the concepts of descriptors, after all records are read: any may be a parent."""
    checked = list(_checked(records, path))
    id_of = {number: record.id for record in checked for number in record.tree_numbers}
    for record in checked:
        above = (number.rpartition(".")[0] for number in record.tree_numbers)
        record.parents = [id_of[number] for number in above if number in id_of]
        yield _concept(record)


def supplementary_concepts(records: Iterable[Record], path: Path) -> Iterator[Concept]:
    """Yields the concepts of supplementary records."""
    return map(_concept, _checked(records, path))


def _checked(records: Iterable[Record], path: Path) -> Iterator[Record]:
    seen: set[str] = set()
    for record in records:
        if not record.id or not record.name.strip():
            reason = f"the record {record.id or record.name!r} has no unique identifier or no name"
            raise BadConcept(file=path, line=record.line, reason=reason)
        if record.id in seen:
            reason = f"a second record with the unique identifier {record.id}"
            raise BadConcept(file=path, line=record.line, reason=reason)
        seen.add(record.id)
        yield record
    if not seen:
        raise NoNames(file=path)


def _concept(record: Record) -> Concept:
    return make_concept(
        _PREFIX + record.id,
        record.name,
        ((synonym, "E") for synonym in record.synonyms),
        (_PREFIX + parent for parent in record.parents),
        "|".join(record.tree_numbers),
    )
