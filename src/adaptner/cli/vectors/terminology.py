"""Reads a terminology for ``vectors train --walks``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adaptner.corpora.raw_text import read_lines
from adaptner.errors import BadTerminology
from adaptner.vectors.walks import Concept

COLUMNS = ("id", "name", "synonyms", "parents", "note")


def read_concepts(path: Path) -> Iterator[Concept]:
    """Yields the concepts of a tab-separated file with COLUMNS; raises BadTerminology."""
    lines_by_id: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if number == 1:
            if tuple(cells) != COLUMNS:
                raise BadTerminology(file=path, line=1, reason=f"{line[:80]!r} is not its header")
            continue
        if len(cells) != len(COLUMNS):
            reason = f"{len(cells)} column(s) instead of {len(COLUMNS)}"
            raise BadTerminology(file=path, line=number, reason=reason)
        id_, name, synonyms, parents, _ = cells
        if not id_.strip() or not name.strip():
            raise BadTerminology(file=path, line=number, reason="no id or no name")
        if lines_by_id.setdefault(id_, number) != number:
            reason = f"the id {id_} is also in line {lines_by_id[id_]}"
            raise BadTerminology(file=path, line=number, reason=reason)
        yield Concept(id_, name, _parts(synonyms), _parts(parents))
    if not lines_by_id:
        raise BadTerminology(file=path, reason="it has no concepts")


def _parts(cell: str) -> list[str]:
    return [part for part in cell.split("|") if part.strip()]
