"""Results as others want them: chosen, summed up, as CSV or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from adaptner.errors import ExtraMissing, UnknownName, UsageError, did_you_mean
from adaptner.evaluation.tables import summarise
from adaptner.files import atomic_file
from adaptner.reproduce.jobs.result import StoredResult

ExportRow = dict[str, Any]


def select_results(
    results: Sequence[StoredResult], method: str | None, target: str | None, size: str | None
) -> list[StoredResult]:
    """Those that fit; a method or corpus that no result has is an error with the nearest."""
    _refuse_unknown("method", method, {r.method for r in results})
    _refuse_unknown("corpus", target, {r.target for r in results})
    wanted = _size(size)
    found = [
        r
        for r in results
        if method in (None, r.method) and target in (None, r.target) and wanted in (None, _level(r))
    ]
    return sorted(
        found, key=lambda r: (r.method, r.variant, r.target, r.share or 0, r.size, r.seed)
    )


def as_rows(results: Iterable[StoredResult]) -> list[ExportRow]:
    return [r.as_dict() for r in results]


def summarise_results(results: Sequence[StoredResult]) -> list[ExportRow]:
    """Mean and sd over draws. Results of other variants, profiles, budgets or versions, or on more of
    the test split, stand apart; of two draws that differ in anything else the newer counts."""
    told = [_told(r) for r in results]
    differ = {name for name in _APART if len({facts[name] for facts in told}) > 1}
    scored: dict[str, set[int]] = {}
    for r in results:
        scored.setdefault(r.target, set()).add(r.sentences)
    rows: dict[tuple[Any, ...], ExportRow] = {}
    for r, facts in zip(results, told, strict=True):
        parts = [facts[name] for name in _APART if name in differ and facts[name]]
        parts += [f"{r.sentences} scored"] if len(scored[r.target]) > 1 else []
        label = f"{r.method} ({', '.join(parts)})" if parts else r.method
        key = (label, r.target, r.size, r.share, r.seed)
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
    kinds = {"int": pyarrow.int64(), "bool": pyarrow.bool_()}
    kinds |= dict.fromkeys(("float", "float | None"), pyarrow.float64())
    schema = pyarrow.schema(
        [(f.name, kinds.get(str(f.type), pyarrow.string())) for f in fields(StoredResult)]
    )
    with atomic_file(path, "wb") as file:
        parquet.write_table(pyarrow.table(columns, schema=schema), file)


def _flat(result: StoredResult) -> ExportRow:
    """Dictionaries as JSON."""
    return {
        name: json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
        for name, value in result.as_dict().items()
    }


_APART = ("variant", "profile", "budget", "version")


def _told(result: StoredResult) -> dict[str, str]:
    budget = f"{result.iterations} iterations"
    return {
        "variant": result.variant,
        "profile": result.profile,
        "budget": budget,
        "version": f"version {result.method_version}" if result.method_version > 1 else "",
    }


def _level(result: StoredResult) -> int | str:
    return result.size if result.share is None else f"{result.share:g}%"


def _size(text: str | None) -> int | str | None:
    if text is None:
        return None
    try:
        return f"{float(text[:-1]):g}%" if text.endswith("%") else int(text)
    except ValueError as error:
        raise UsageError(
            problem=f"--size {text}: neither a number of sentences nor a share",
            remedy="write for example --size 20 or --size 20%",
        ) from error


def _refuse_unknown(kind: str, name: str | None, known: set[str]) -> None:
    if name is not None and known and name not in known:
        names = sorted(known)
        raise UnknownName(
            kind=f"{kind} in these results",
            name=name,
            near=did_you_mean(name, names),
            known=", ".join(names),
        )
