"""What a format is: the contract that each file of this package fulfils."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from adaptner.formats.lines import ProblemCallback, raise_problem
from adaptner.text.schemes import TagRepair
from adaptner.types import Document

RepairCallback = Callable[[int, TagRepair], None]  # the line of the tag, and what became of it


def ignore_repairs(line: int, repair: TagRepair) -> None:
    """For those who do not ask."""


@dataclass(frozen=True, slots=True)
class LocatedDocument:
    """A document and the line of the file it begins on."""

    line: int
    document: Document


class Format(Protocol):
    name: str
    endings: tuple[str, ...]

    def read_with_lines(
        self,
        path: str | Path,
        report: RepairCallback = ignore_repairs,
        problems: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        """The documents with their lines. ``report`` hears of each repaired tag; ``problems``
        gets each error, and if it does not raise, what was at fault is left out."""
        ...

    def read(
        self, path: str | Path, report: RepairCallback = ignore_repairs
    ) -> Iterator[Document]: ...

    def write(self, documents: Iterable[Document], path: str | Path) -> None: ...


class LocatingReader:
    """``read`` for formats that have ``read_with_lines``."""

    def read_with_lines(
        self,
        path: str | Path,
        report: RepairCallback = ignore_repairs,
        problems: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        raise NotImplementedError

    def read(self, path: str | Path, report: RepairCallback = ignore_repairs) -> Iterator[Document]:
        return (located.document for located in self.read_with_lines(path, report))
