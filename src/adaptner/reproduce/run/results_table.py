"""``StoredResult`` as rows of SQLite: one column per field, dictionaries as JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from adaptner.reproduce.jobs.result import StoredResult

_TYPES = {
    "str": "TEXT",
    "int": "INTEGER",
    "float": "REAL",
    "float | None": "REAL",
    "bool": "INTEGER",
}
_FIELDS = {f.name: str(f.type) for f in fields(StoredResult)}
_JSON = [name for name, kind in _FIELDS.items() if kind.startswith("dict")]


def results_schema() -> str:
    columns = ", ".join(f"{name} {_TYPES.get(kind, 'TEXT')}" for name, kind in _FIELDS.items())
    return f"CREATE TABLE IF NOT EXISTS results ({columns}, PRIMARY KEY (key)) WITHOUT ROWID;"


def add_new_columns(db: sqlite3.Connection) -> None:
    """Adds the fields that a file of an earlier version lacks; its rows keep NULL in them."""
    for name in _FIELDS.keys() - _columns(db):
        db.execute(f"ALTER TABLE results ADD COLUMN {name} {_TYPES.get(_FIELDS[name], 'TEXT')}")


def _columns(db: sqlite3.Connection) -> set[str]:
    return {row[1] for row in db.execute("PRAGMA table_info(results)")}


def insert_result(db: sqlite3.Connection, result: StoredResult) -> None:
    """A row with the same key stays unchanged."""
    values: dict[str, Any] = result.as_dict()
    row = [json.dumps(v) if name in _JSON else v for name, v in values.items()]
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT OR IGNORE INTO results ({', '.join(values)}) VALUES ({marks})", row)


def read_results(
    db: sqlite3.Connection, where: str, values: Sequence[object]
) -> list[StoredResult]:
    """Fields without a value get the default of ``StoredResult``, except that seeds of bases, which
    earlier versions did not store, are those of the jobs."""
    known = _columns(db)  # a file of an earlier version that is only read lacks columns
    names = [name for name in _FIELDS if name in known]
    specs = db.execute("SELECT key, spec FROM jobs WHERE kind = 'base'")
    seeds = {key: json.loads(spec).get("seed", 0) for key, spec in specs}
    found = []
    for row in db.execute(f"SELECT {', '.join(names)} FROM results {where} ORDER BY key", values):
        facts = {
            name: value
            for name, value in zip(names, row, strict=True)
            if value is not None or name == "share"
        }
        facts |= {name: json.loads(facts[name]) for name in _JSON if name in facts}
        facts.setdefault("base_seed", seeds.get(facts["base_key"], 0))
        facts["limited"] = bool(facts["limited"])
        found.append(StoredResult(**facts))
    return found
