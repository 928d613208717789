"""The interface of converters of licensed folders (OntoNotes 5.0 and ACE 2005)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from adaptner.corpora.converters.sentences import Splits

# Called after each file with the number of files read and their total
ConversionProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class ConversionResult:
    """Corpora by name in the catalogue, and the number of items left out by reason."""

    corpora: dict[str, Splits]
    left_out: Counter[str] = field(default_factory=Counter)


FolderConverter = Callable[[Path, ConversionProgress], ConversionResult]
