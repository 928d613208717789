"""What a report is told besides the results: what was asked for, and what the reader must know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adaptner.reproduce.tables.published import PublishedTable


@dataclass(frozen=True)
class ReportRequest:
    """``columns`` says which corpus of ours stands for a published column (of a column such as
    "SciTech f1" the part before the measure will do). Reasons in ``skipped`` and ``incomparable``
    are for the reader: half a sentence each."""

    table: str  # "hgda/3"
    profile: str  # quick, paper, or custom
    command: str  # that makes the report again
    methods: Sequence[str] = ()  # our names; what was asked for, whether it was run or not
    targets: Sequence[str] = ()
    sizes: Sequence[int] = ()
    draws: int = 0
    notes: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)  # row label -> reason
    columns: Mapping[str, str] = field(default_factory=dict)  # published column -> our corpus
    incomparable: Mapping[str, str] = field(default_factory=dict)  # column or row label -> reason
    hardness: Sequence[Mapping[str, Any]] = ()  # iteration, domain, gamma; perhaps run


def table_name(table: PublishedTable) -> str:
    """Some tables are made of what the text says, and have no number."""
    return f"Table {table.id}" if table.id[:1].isdigit() else f"“{table.id}”"
