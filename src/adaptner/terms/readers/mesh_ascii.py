"""MeSH in NLM's ASCII format: descriptors (d2026.bin) and supplementary concepts (c2026.bin).

Supplementary records name the descriptors that they are mapped to, so the descriptors of the same year
must be in the same folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from adaptner.errors import DescriptorsMissing
from adaptner.terms.concepts import Concept
from adaptner.terms.readers.files import numbered_lines, open_binary
from adaptner.terms.readers.mesh import Record, descriptor_concepts, supplementary_concepts

ENDINGS = (".bin",)
FIRST_LINE = "*NEWRECORD"

_SUPPLEMENT = "NM"  # the tag of a supplementary concept's name


def read(path: str | Path) -> Iterator[Concept]:
    """Yields the concepts; raises DescriptorsMissing for c2026.bin without d2026.bin."""
    path = Path(path)
    with open_binary(path) as file:
        if _is_supplement(file, path):
            ids = _descriptor_ids(path)
            records = (_with_ids(record, ids) for record in _records(file, path))
            yield from supplementary_concepts(records, path)
        else:
            yield from descriptor_concepts(_records(file, path), path)


def _is_supplement(file: BinaryIO, path: Path) -> bool:
    for _, line in numbered_lines(file, path):
        tag = line.partition(" = ")[0]
        if tag in ("MH", _SUPPLEMENT):
            return tag == _SUPPLEMENT
    return False


def _records(file: BinaryIO, path: Path) -> Iterator[Record]:
    record: Record | None = None
    for number, line in numbered_lines(file, path):
        if line.strip() == FIRST_LINE:
            if record:
                yield record
            record = Record(line=number)
            continue
        tag, _, value = line.partition(" = ")
        value = value.strip()
        if not record or not value:
            continue
        if tag == "UI":
            record.id = value
        elif tag in ("MH", _SUPPLEMENT):
            record.name = value
        elif tag in ("ENTRY", "PRINT ENTRY", "SY"):
            record.synonyms.append(value.partition("|")[0])
        elif tag == "MN":
            record.tree_numbers.append(value)
        elif tag == "HM":
            record.parents.append(value.lstrip("*"))
    if record:
        yield record


def _descriptor_ids(path: Path) -> dict[str, str]:
    """Returns the ids of the descriptors beside the file of supplementary concepts, by name."""
    descriptors = path.with_name("d" + path.name[1:])
    if path.name[:1] != "c" or not descriptors.exists():
        raise DescriptorsMissing(file=path, descriptors=descriptors.name)
    with open_binary(descriptors) as file:
        return {record.name: record.id for record in _records(file, descriptors)}


def _with_ids(record: Record, ids: dict[str, str]) -> Record:
    """Returns the record with ids for names of descriptors, which a qualifier may follow."""
    names = (name if name in ids else name.partition("/")[0] for name in record.parents)
    record.parents = [ids[name] for name in names if name in ids]
    return record
