"""From result rows, one per draw, to the tables people read: mean ± sd by corpus and size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adaptner.errors import BadUsage
from adaptner.evaluation.significance import mean_sd

if TYPE_CHECKING:
    from rich.table import Table

MEASURES = ("precision", "recall", "f1")
COSTS = ("steps", "seconds")
_REQUIRED = ("corpus", "size", "seed", *MEASURES, *COSTS)


def summarise(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mean, sd (n - 1) and n per corpus and size, and per method where rows name one.

    Corpora stay in the order of their first row, sizes go up. Steps and seconds are means. The sd
    of a single draw is None. A draw given twice is an error: it would count double.
    """
    groups: dict[tuple[Any, ...], dict[Any, Mapping[str, Any]]] = {}
    for number, row in enumerate(rows, start=1):
        missing = [name for name in _REQUIRED if name not in row]
        if missing:
            raise BadUsage(
                problem=f"result row {number} has no {', '.join(missing)}",
                remedy=f"a row carries {', '.join(_REQUIRED)}",
            )
        draws = groups.setdefault((row.get("method"), row["corpus"], row["size"]), {})
        if row["seed"] in draws:
            raise BadUsage(
                problem=f"result row {number} repeats {row['corpus']}, size {row['size']}, "
                f"seed {row['seed']}",
                remedy="keep one row per draw",
            )
        draws[row["seed"]] = row
    return [_summary(key, list(groups[key].values())) for key in _in_order(groups)]


def markdown_table(summary: Sequence[Mapping[str, Any]]) -> str:
    """The summary as a Markdown table, ending in a newline."""
    header, body = _cells(summary)
    names = sum(name in ("method", "corpus") for name in header)
    rule = ["---"] * names + ["---:"] * (len(header) - names)
    lines = ["| " + " | ".join(_escaped(cells)) + " |" for cells in (header, rule, *body)]
    return "\n".join(lines) + "\n"


def rich_table(summary: Sequence[Mapping[str, Any]], title: str | None = None) -> Table:
    """The summary as a table for the terminal."""
    from rich.table import Table
    from rich.text import Text

    header, body = _cells(summary)
    table = Table(title=title)
    for name in header:
        table.add_column(name, justify="left" if name in ("method", "corpus") else "right")
    for cells in body:
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _in_order(groups: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    keys = list(groups)
    methods = list(dict.fromkeys(method for method, _, _ in keys))
    corpora = list(dict.fromkeys(corpus for _, corpus, _ in keys))
    return sorted(keys, key=lambda k: (methods.index(k[0]), corpora.index(k[1]), k[2]))


def _summary(key: tuple[Any, ...], draws: list[Mapping[str, Any]]) -> dict[str, Any]:
    method, corpus, size = key
    summary: dict[str, Any] = {} if method is None else {"method": method}
    summary |= {"corpus": corpus, "size": size, "n": len(draws)}
    for measure in MEASURES:
        mean, sd = mean_sd([row[measure] for row in draws])
        summary |= {f"{measure}_mean": mean, f"{measure}_sd": None if math.isnan(sd) else sd}
    for cost in COSTS:
        summary[cost] = mean_sd([row[cost] for row in draws])[0]
    return summary


def _cells(summary: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    names = ["method"] if any("method" in row for row in summary) else []
    header = [*names, "corpus", "size", "n", "precision", "recall", "F1", "steps", "seconds"]
    body = [
        [
            *(str(row.get(name, "")) for name in names),
            str(row["corpus"]),
            str(row["size"]),
            str(row["n"]),
            *(_mean_sd(row[f"{m}_mean"], row[f"{m}_sd"]) for m in MEASURES),
            f"{row['steps']:.0f}",
            f"{row['seconds']:.1f}",
        ]
        for row in summary
    ]
    return header, body


def _mean_sd(mean: float, sd: float | None) -> str:
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"


def _escaped(cells: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]
