"""Reads terminologies in any of the known layouts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adaptner.errors import UnknownFormat
from adaptner.terms.concepts import Concept
from adaptner.terms.readers import name_list, tsv
from adaptner.terms.readers.files import first_line, plain_name

__all__ = ["read_concepts"]


def read_concepts(path: str | Path) -> Iterator[Concept]:
    """Yields the concepts of a file, whose layout its content and its ending tell.

    Raises an InputError or UnknownFormat.
    """
    path = Path(path)
    first = first_line(path)
    ending = plain_name(path).suffix.lower()
    if first == tsv.HEADER:
        return tsv.read(path)
    if ending in name_list.ENDINGS:
        return name_list.read(path)
    raise UnknownFormat(file=path, given="from the file ending", known=_KNOWN)


_KNOWN = ", ".join(name_list.ENDINGS)
