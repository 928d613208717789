"""Summarises results of draws as mean ± sd per corpus and size, and shows them as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from adaptner.metrics.significance import mean_sd

if TYPE_CHECKING:
    from rich.table import Table

MEASURES = ("precision", "recall", "f1")
COSTS = ("steps", "seconds")


def summarise(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns mean, sd (n - 1) and n per method, corpus and size or share.

    Corpora keep the order of their first row; sizes increase and shares follow them. Steps and
    seconds are means. The sd of a single draw is None. ``method``, ``share`` and ``unlabelled``
    (target sentences used without labels) appear only if rows have them.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        key = (row.get("method"), row["corpus"], row["size"], row.get("share"))
        groups.setdefault(key, []).append(row)
    return [_summary(key, groups[key]) for key in _sorted_keys(groups)]


def rich_table(summary: Sequence[Mapping[str, Any]], title: str | None = None) -> Table:
    """Returns the summary as a table that never truncates a number in a narrow terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    header, body = _cells(summary)
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, *cells in zip(header, *body, strict=True):
        side: Literal["left", "right"] = "left" if name in ("method", "corpus") else "right"
        table.add_column(name, justify=side, min_width=max(map(len, (name, *cells))))
    for cells in body:
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _sorted_keys(groups: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    keys = list(groups)
    methods = list(dict.fromkeys(method for method, *_ in keys))
    corpora = list(dict.fromkeys(corpus for _, corpus, *_ in keys))

    def position(key: tuple[Any, ...]) -> tuple[Any, ...]:
        method, corpus, size, share = key
        return methods.index(method), corpora.index(corpus), share or 0, size

    return sorted(keys, key=position)


def _summary(key: tuple[Any, ...], draws: list[Mapping[str, Any]]) -> dict[str, Any]:
    method, corpus, size, share = key
    summary: dict[str, Any] = {} if method is None else {"method": method}
    summary |= {"corpus": corpus} | ({} if share is None else {"share": share})
    summary |= {"size": size, "n": len(draws)}
    if unlabelled := max(row.get("unlabelled", 0) for row in draws):
        summary["unlabelled"] = unlabelled
    for measure in MEASURES:
        mean, sd = mean_sd([row[measure] for row in draws])
        summary |= {f"{measure}_mean": mean, f"{measure}_sd": None if math.isnan(sd) else sd}
    for cost in COSTS:
        summary[cost] = mean_sd([row[cost] for row in draws])[0]
    return summary


def _cells(summary: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Returns header and rows, without the columns that no row has a value for."""
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "method": lambda row: row.get("method", ""),
        "corpus": lambda row: row["corpus"],
        "share": lambda row: f"{row['share']:g} %" if "share" in row else "",
        "size": lambda row: str(row["size"]),
        "n": lambda row: str(row["n"]),
        "unlabelled": lambda row: str(row.get("unlabelled", "")),
        "precision": lambda row: _mean_sd(row["precision_mean"], row["precision_sd"]),
        "recall": lambda row: _mean_sd(row["recall_mean"], row["recall_sd"]),
        "F1": lambda row: _mean_sd(row["f1_mean"], row["f1_sd"]),
        "steps": lambda row: f"{row['steps']:.0f}",
        "seconds": lambda row: f"{row['seconds']:.1f}",
    }
    for name in ("method", "share", "unlabelled"):
        if not any(name in row for row in summary):
            del columns[name]
    return list(columns), [[cell(row) for cell in columns.values()] for row in summary]


def _mean_sd(mean: float, sd: float | None) -> str:
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"
