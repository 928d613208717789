"""The published tables as data: one TOML file per paper in ``papers/``.

Figures are as printed. Where a paper contradicts itself or another paper, a ``Slip`` says what is
wrong, so that nobody compares with a misprint unawares.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from adaptner.errors import UnknownName

# Settings of rows that have no number of sentences (PDALN).
UNSUPERVISED, SEMI_SUPERVISED = "unsupervised", "semi-supervised"


@dataclass(frozen=True)
class PublishedRow:
    """A printed row: results of a ``method``, facts about a ``corpus``, or both.

    ``method_id`` is our name of the method if we have it, ``size`` the number of labelled target
    sentences, and ``setting`` anything else that distinguishes rows. Values may be None.
    """

    values: tuple[float | None, ...]
    method: str | None = None
    method_id: str | None = None
    encoder: str | None = None
    corpus: str | None = None
    setting: str | None = None
    size: int | None = None
    overall: float | None = None


def row_label(row: PublishedRow) -> str:
    """Returns the name of a row in reports, which distinguishes rows of the same size."""
    name = row.method or row.corpus or "?"
    further = [row.corpus] if row.method and row.corpus else []
    further += [row.setting] if row.setting else []
    return f"{name} ({', '.join(further)})" if further else name


@dataclass(frozen=True)
class PublishedTable:
    """A printed table in ``unit`` fraction, percent, count or thousand, with ``decimals``
    digits after the point.

    ``by_type``: the columns are entity types, with a measure ("PER f1") or, for counts, alone ("PER",
    "Total"). ``relative``: the first row is absolute, the others are differences from it.
    """

    id: str
    caption: str
    protocol: str
    unit: str
    decimals: int
    columns: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    metric: str | None = None
    overall_decimals: int | None = None
    by_type: bool = False
    relative: bool = False

    def select(self, **facts: object) -> tuple[PublishedRow, ...]:
        """Returns the rows with these fields, for example ``select(method="HGDA", size=5)``."""
        return tuple(r for r in self.rows if all(getattr(r, k) == v for k, v in facts.items()))

    def value(self, row: PublishedRow, column: str) -> float | None:
        """Returns a cell; ``column`` may be ``"overall"``. Raises ``UnknownName``."""
        if column == "overall":
            return row.overall
        if column not in self.columns:
            known = [*self.columns, "overall"]
            raise UnknownName.among(known, kind=f"column of table {self.id}", name=column)
        return row.values[self.columns.index(column)]


@dataclass(frozen=True)
class Slip:
    """A known error in a paper, at the place that its fields name; ``computed`` is the right figure.

    Kinds: ``rounding``, ``arithmetic`` (an overall that is not the mean of its row), ``f1`` (not
    that of its precision and recall), ``impossible`` (no runs can give it), ``disagreement``
    (with another paper or table), ``misprint``, ``layout``, ``data``, ``text``.
    """

    kind: str
    note: str
    table: str | None = None
    method: str | None = None
    corpus: str | None = None
    setting: str | None = None
    size: int | None = None
    column: str | None = None
    printed: str | None = None
    computed: float | None = None


@dataclass(frozen=True)
class Paper:
    """A paper with its tables and slips. ``file`` is the name of its text in the shared folder."""

    name: str
    short: str
    title: str
    year: int
    file: str
    tables: tuple[PublishedTable, ...]
    slips: tuple[Slip, ...]

    def table(self, id: str) -> PublishedTable:
        for table in self.tables:
            if table.id == id:
                return table
        raise UnknownName.among([t.id for t in self.tables], kind=f"table of {self.short}", name=id)

    def slips_at(self, table: PublishedTable, row: PublishedRow, column: str) -> tuple[Slip, ...]:
        """Returns the slips of exactly this cell."""
        return tuple(
            s
            for s in self.slips
            if (s.table, s.column) == (table.id, column)
            and (s.method, s.corpus) == (row.method, row.corpus)
            and (s.setting, s.size) == (row.setting, row.size)
        )


def papers() -> list[Paper]:
    """Returns all papers, by name."""
    return [paper(name) for name in _names()]


def paper(name: str) -> Paper:
    """Returns the paper called ``name`` in upper or lower case. Raises ``UnknownName``."""
    known = _names()
    if name.lower() not in known:
        raise UnknownName.among(known, kind="paper", name=name)
    return _load(name.lower())


def _names() -> list[str]:
    folder = resources.files("adaptner.reproduce.tables") / "papers"
    return sorted(
        f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")
    )


@cache
def _load(name: str) -> Paper:
    source = resources.files("adaptner.reproduce.tables") / "papers" / f"{name}.toml"
    facts = tomllib.loads(source.read_text(encoding="utf-8"))
    tables = tuple(_table(t) for t in facts.pop("table"))
    slips = tuple(Slip(**s) for s in facts.pop("slip", []))
    return Paper(name=name, tables=tables, slips=slips, **facts)


def _table(facts: dict[str, Any]) -> PublishedTable:
    rows = tuple(_row(r) for r in facts.pop("rows"))
    columns = tuple(facts.pop("columns"))
    return PublishedTable(columns=columns, rows=rows, **facts)


def _row(facts: dict[str, Any]) -> PublishedRow:
    # TOML has no null: a cell without a figure is nan.
    values = tuple(None if math.isnan(v) else v for v in facts.pop("values"))
    return PublishedRow(values=values, **facts)
