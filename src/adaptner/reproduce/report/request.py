"""What a report needs to know besides the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adaptner.reproduce.tables.published import PublishedTable


@dataclass(frozen=True)
class ReportRequest:
    """``table`` is a name such as "hgda/3", ``profile`` is quick, paper or custom, and ``command``
    makes the report again. ``methods``, ``targets`` and ``sizes`` are what the user requested.

    The published rows are filled with results of the kind of draw ``draws_from``; others get rows of
    their own. ``draws`` and ``bases`` are the numbers requested.

    ``columns`` maps published columns to our corpora (for a column such as "SciTech f1", the part
    before the measure is enough). ``skipped`` and ``incomparable`` map labels of rows or columns to
    reasons that complete a sentence. ``hardness`` are records with iteration, domain, gamma and,
    optionally, run.
    """

    table: str
    profile: str
    command: str
    methods: Sequence[str] = ()
    targets: Sequence[str] = ()
    sizes: Sequence[int] = ()
    draws: int = 0
    bases: int = 1
    draws_from: str = "all"
    notes: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    incomparable: Mapping[str, str] = field(default_factory=dict)
    hardness: Sequence[Mapping[str, Any]] = ()


def table_name(table: PublishedTable) -> str:
    """Returns "Table 3", or the id in quotes if the figures come from the paper's text."""
    return f"Table {table.id}" if table.id[:1].isdigit() else f"“{table.id}”"
