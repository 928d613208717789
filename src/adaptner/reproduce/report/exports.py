"""Selects results, summarises them and writes them as CSV or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from adaptner.errors import ExtraMissing, UnknownName, UsageError
from adaptner.evaluation.tables import summarise
from adaptner.files import atomic_file
from adaptner.reproduce.jobs.result import StoredResult

ExportRow = dict[str, Any]
_CONDITIONS = ("variant", "profile", "budget", "version")


def select_results(
    results: Sequence[StoredResult], method: str | None, target: str | None, size: str | None
) -> list[StoredResult]:
    """Returns the results of a method, corpus and size ("20" or "20%"); None selects all.

    Raises ``UnknownName`` if no result has the method or corpus.
    """
    _check_name("method", method, {r.method for r in results})
    _check_name("corpus", target, {r.target for r in results})
    wanted = _parse_size(size)
    found = [
        r
        for r in results
        if method in (None, r.method) and target in (None, r.target) and wanted in (None, _size(r))
    ]
    return sorted(
        found,
        key=lambda r: (r.method, r.variant, r.target, r.share or 0, r.size, r.seed, r.base_seed),
    )


def summarise_results(results: Sequence[StoredResult]) -> list[ExportRow]:
    """Returns mean and sd over draws and bases.

    Results of other variants, profiles, budgets or versions, of another kind of draw, or on more test
    sentences, have separate rows. If results of the same draw and base differ in anything else, only
    the newest counts.
    """
    conditions = [_conditions(r) for r in results]
    differing = {name for name in _CONDITIONS if len({c[name] for c in conditions}) > 1}
    scored: dict[str, set[int]] = {}
    for r in results:
        scored.setdefault(r.target, set()).add(r.sentences)
    rows: dict[tuple[Any, ...], ExportRow] = {}
    for r, condition in zip(results, conditions, strict=True):
        parts = [condition[name] for name in _CONDITIONS if name in differing and condition[name]]
        parts += [f"{r.sentences} scored"] if len(scored[r.target]) > 1 else []
        label = f"{r.method} ({', '.join(parts)})" if parts else r.method
        key = (label, r.target, r.size, r.share, r.draws_from, r.seed, r.base_seed)
        if key not in rows or rows[key]["finished"] < r.finished:
            rows[key] = {**r.as_dict(), "corpus": r.target, "method": label}
    return summarise(rows.values())


def write_csv(results: Sequence[StoredResult], path: Path) -> None:
    names = [f.name for f in fields(StoredResult)]
    with atomic_file(path) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_flat(r) for r in results)


def write_parquet(results: Sequence[StoredResult], path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ExtraMissing(what="--parquet", package="pyarrow", extra="parquet") from error
    columns: dict[str, list[Any]] = {f.name: [] for f in fields(StoredResult)}
    for r in results:
        for name, value in _flat(r).items():
            columns[name].append(value)
    types = {"int": pyarrow.int64(), "bool": pyarrow.bool_()}
    types |= dict.fromkeys(("float", "float | None"), pyarrow.float64())
    schema = pyarrow.schema(
        [(f.name, types.get(str(f.type), pyarrow.string())) for f in fields(StoredResult)]
    )
    with atomic_file(path, "wb") as file:
        parquet.write_table(pyarrow.table(columns, schema=schema), file)


def _flat(result: StoredResult) -> ExportRow:
    """The result with dictionaries as JSON."""
    return {
        name: json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
        for name, value in result.as_dict().items()
    }


def _conditions(result: StoredResult) -> dict[str, str]:
    return {
        "variant": result.variant,
        "profile": result.profile,
        "budget": f"{result.iterations} iterations",
        "version": f"version {result.method_version}" if result.method_version > 1 else "",
    }


def _size(result: StoredResult) -> int | str:
    return result.size if result.share is None else f"{result.share:g}%"


def _parse_size(text: str | None) -> int | str | None:
    if text is None:
        return None
    try:
        return f"{float(text[:-1]):g}%" if text.endswith("%") else int(text)
    except ValueError as error:
        raise UsageError(
            problem=f"--size {text} is neither a number of sentences nor a share",
            remedy="use for example --size 20 or --size 20%",
        ) from error


def _check_name(kind: str, name: str | None, known: set[str]) -> None:
    if name is not None and known and name not in known:
        raise UnknownName.among(sorted(known), kind=f"{kind} in these results", name=name)
