"""Summarises results of draws as mean ± sd per corpus and size, and shows them as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from adaptner.metrics.crossed import spread
from adaptner.metrics.significance import mean_sd

if TYPE_CHECKING:
    from rich.table import Table

MEASURES = ("precision", "recall", "f1")
COSTS = ("steps", "seconds")


def summarise(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns mean, sd (n - 1) and n per method, corpus, size or share, and kind of draw.

    Corpora keep the order of their first row; sizes increase and shares follow them. Steps and
    seconds are means. The sd of a single draw is None. ``n`` counts draws; if several bases were adapted
    to each (``bases``), the sd is the root of the sum of both variances. ``empty_draws`` counts draws
    without an entity, and ``mentions`` is the mean number of entities in a draw. ``method``,
    ``share``, ``unlabelled`` (target sentences used without labels) and these three appear only if rows
    have them.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        kind = row.get("draws_from", "all")
        key = (row.get("method"), row["corpus"], row["size"], row.get("share"), kind)
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
        method, corpus, size, share, kind = key
        return methods.index(method), corpora.index(corpus), share or 0, size, kind

    return sorted(keys, key=position)


def _summary(key: tuple[Any, ...], draws: list[Mapping[str, Any]]) -> dict[str, Any]:
    method, corpus, size, share, kind = key
    runs = {(row["seed"], row.get("base_seed", 0)): row for row in draws}
    f1 = spread({run: row["f1"] for run, row in runs.items()})
    summary: dict[str, Any] = {} if method is None else {"method": method}
    summary |= {"corpus": corpus} | ({} if share is None else {"share": share})
    summary |= {"size": size, "draws_from": kind, "n": f1.draws}
    if f1.bases > 1:
        summary["bases"] = f1.bases
    if all("entities" in row for row in draws):
        mentions = list({row["seed"]: row["entities"] for row in draws}.values())
        summary["empty_draws"] = sum(number == 0 for number in mentions)
        summary["mentions"] = mean_sd(mentions)[0]
    if unlabelled := max(row.get("unlabelled", 0) for row in draws):
        summary["unlabelled"] = unlabelled
    for measure in MEASURES:
        found = spread({run: row[measure] for run, row in runs.items()})
        summary |= {f"{measure}_mean": found.mean, f"{measure}_sd": found.sd}
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
        "draws from": lambda row: row["draws_from"],
        "n": lambda row: str(row["n"]),
        "bases": lambda row: str(row.get("bases", 1)),
        "empty": lambda row: str(row.get("empty_draws", "")),
        "mentions": lambda row: f"{row['mentions']:.1f}" if "mentions" in row else "",
        "unlabelled": lambda row: str(row.get("unlabelled", "")),
        "precision": lambda row: _mean_sd(row["precision_mean"], row["precision_sd"]),
        "recall": lambda row: _mean_sd(row["recall_mean"], row["recall_sd"]),
        "F1": lambda row: _mean_sd(row["f1_mean"], row["f1_sd"]),
        "steps": lambda row: f"{row['steps']:.0f}",
        "seconds": lambda row: f"{row['seconds']:.1f}",
    }
    for name in ("method", "share", "bases", "empty", "mentions", "unlabelled"):
        if not any({"empty": "empty_draws"}.get(name, name) in row for row in summary):
            del columns[name]
    if all(row["draws_from"] == "all" for row in summary):
        del columns["draws from"]
    return list(columns), [[cell(row) for cell in columns.values()] for row in summary]


def _mean_sd(mean: float, sd: float | None) -> str:
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"
