"""Corpora that a user has under licence, as folders: OntoNotes 5.0 and ACE 2005."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from adaptner.corpora.converters.sentences import Splits


class ConversionProgress(Protocol):
    """Told of every file: how many of how many are read."""

    def __call__(self, done: int, total: int) -> None: ...


def no_conversion_progress(done: int, total: int) -> None:
    """Nobody is watching."""


@dataclass(frozen=True)
class ConversionResult:
    """Corpora by their names in the catalogue, and what had to be left out, counted by reason."""

    corpora: dict[str, Splits]
    left_out: Counter[str] = field(default_factory=Counter)


FolderConverter = Callable[[Path, ConversionProgress], ConversionResult]
