"""What a format is: the contract that each file of this package fulfils."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adaptner.formats.lines import Problems, stop_at
from adaptner.text.schemes import Repair
from adaptner.types import Document

Report = Callable[[int, Repair], None]  # the line of the tag, and what became of it


def no_report(line: int, repair: Repair) -> None:
    """For those who do not ask."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A document and the line of the file it begins on."""

    line: int
    document: Document


class Format(Protocol):
    name: str
    endings: tuple[str, ...]

    def placed(
        self, path: str | Path, report: Report = no_report, problems: Problems = stop_at
    ) -> Iterator[Placed]:
        """The documents with their lines. ``report`` hears of each repaired tag; ``problems``
        gets each error, and if it does not raise, what was at fault is left out."""
        ...

    def read(self, path: str | Path, report: Report = no_report) -> Iterator[Document]: ...

    def write(self, documents: Iterable[Document], path: str | Path) -> None: ...


class PlacedReader:
    """``read`` for formats that have ``placed``."""

    def placed(
        self, path: str | Path, report: Report = no_report, problems: Problems = stop_at
    ) -> Iterator[Placed]:
        raise NotImplementedError

    def read(self, path: str | Path, report: Report = no_report) -> Iterator[Document]:
        return (placed.document for placed in self.placed(path, report))
