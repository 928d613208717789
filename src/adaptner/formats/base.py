"""The interface of a file format, which each format in this package implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from adaptner.formats.lines import ProblemCallback, raise_problem
from adaptner.text.schemes import TagRepair
from adaptner.types import Document

RepairCallback = Callable[[int, TagRepair], None]  # line number of the tag, and its repair


def ignore_repairs(line: int, repair: TagRepair) -> None:
    pass


@dataclass(frozen=True, slots=True)
class LocatedDocument:
    """A document and the number of its first line in the file."""

    line: int
    document: Document


class Format(ABC):
    """Reads and writes the documents of a file ("-": standard input or output).

    To add a format, write a subclass in a file of this package and list it in ``FORMATS``.
    """

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]  # file endings in lower case, with the dot

    @abstractmethod
    def read_with_lines(
        self,
        path: str | Path,
        on_repair: RepairCallback = ignore_repairs,
        on_problem: ProblemCallback = raise_problem,
    ) -> Iterator[LocatedDocument]:
        """Yields the documents with their lines.

        ``on_repair`` is called for each repaired tag and ``on_problem`` for each error. If
        ``on_problem`` does not raise, the faulty part is skipped.
        """

    def read(
        self, path: str | Path, on_repair: RepairCallback = ignore_repairs
    ) -> Iterator[Document]:
        return (located.document for located in self.read_with_lines(path, on_repair))

    @abstractmethod
    def write(self, documents: Iterable[Document], path: str | Path) -> None:
        """Writes a complete file or, if anything fails, none.

        Raises EntityNotRepresentable for what the format cannot hold.
        """
