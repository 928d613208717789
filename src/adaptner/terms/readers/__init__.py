"""Reads terminologies in any of the known layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from adaptner.errors import UnknownFormat
from adaptner.terms.concepts import Concept
from adaptner.terms.readers import mesh_ascii, mesh_xml, name_list, obo, tsv
from adaptner.terms.readers.files import COMPRESSED, first_line, plain_name

__all__ = ["ENDINGS", "read_concepts"]

_BY_ENDING: dict[str, Callable[[str | Path], Iterator[Concept]]] = {
    ending: reader.read
    for reader in (name_list, obo, mesh_xml, mesh_ascii)
    for ending in reader.ENDINGS
}

ENDINGS = tuple(_BY_ENDING)


def read_concepts(path: str | Path) -> Iterator[Concept]:
    """Yields the concepts of a file, whose layout its first line or else its ending tells.

    Raises an InputError or UnknownFormat.
    """
    path = Path(path)
    ending = plain_name(path).suffix.lower()
    # The XML of MeSH may be in any encoding, and all of it on one line.
    first = "" if ending in mesh_xml.ENDINGS else first_line(path)
    if first == tsv.HEADER:
        return tsv.read(path)
    if first.startswith("<?xml"):
        return mesh_xml.read(path)
    if first == mesh_ascii.FIRST_LINE:
        return mesh_ascii.read(path)
    if first.startswith("format-version:"):
        return obo.read(path)
    if ending in _BY_ENDING:
        return _BY_ENDING[ending](path)
    known = f"{' '.join(_BY_ENDING)} (also with {' or '.join(COMPRESSED)})"
    raise UnknownFormat(file=path, given="from the file ending", known=known)
