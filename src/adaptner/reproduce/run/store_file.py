"""The SQLite file behind the store: its tables, how it is opened, transactions.

Rows are addressed by the keys of jobs. The file must lie on a local disk, because SQLite's write-ahead
log needs shared memory; on a cluster only the driver writes it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from adaptner.errors import StoreUnreadable
from adaptner.reproduce.run.results_table import add_new_columns, results_schema

FORMAT = 1
_APPLICATION_ID = 0x61646E72  # "adnr"
_TIMEOUT_SECONDS = 60.0  # for another process's transaction

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS jobs (
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, base TEXT, spec TEXT NOT NULL, profile TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending', worker TEXT, heartbeat REAL, attempts INTEGER NOT NULL DEFAULT 0,
  seconds REAL, outcome TEXT, error TEXT, log TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS wanted (
  ask TEXT NOT NULL, place INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (ask, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asks (ask TEXT PRIMARY KEY, "table" TEXT NOT NULL, profile TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS corpora (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL) WITHOUT ROWID;
{results_schema()}
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
"""


class StoreFile:
    """A connection; each thread needs its own."""

    def __init__(self, path: Path, *, make: bool = True) -> None:
        """With ``make=False`` a missing file is an error, and opening does not change the file.

        Raises ``StoreUnreadable`` if the file is no store."""
        self.path = path
        if not make and not path.is_file():
            raise StoreUnreadable(file=path, reason="there is no such file")
        try:
            if make:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_TIMEOUT_SECONDS, isolation_level=None)
            self._prepare()
            if make:
                self._enable_write_ahead_log()
                with self._transaction() as db:
                    add_new_columns(db)
        except sqlite3.Error as error:
            raise StoreUnreadable(file=path, reason=str(error)) from error

    def _prepare(self) -> None:
        """Creates missing tables; leaves another program's database unchanged."""
        if self._pragma("application_id") != _APPLICATION_ID:
            with self._transaction() as db:  # two processes may be here at once
                if self._pragma("application_id") != _APPLICATION_ID:
                    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                        raise StoreUnreadable(
                            file=self.path, reason="it is another program's database"
                        )
                    for statement in _SCHEMA.split(";\n"):
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {FORMAT}")
                    db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        if (found := self._pragma("user_version")) > FORMAT:
            raise StoreUnreadable(
                file=self.path, reason=f"written by a newer version (format {found})"
            )
        self._db.execute("PRAGMA synchronous = NORMAL")

    def _enable_write_ahead_log(self) -> None:
        """Lets readers and a writer work side by side. Unlike a transaction, this change does not wait
        for other processes, hence the loop."""
        end = time.monotonic() + _TIMEOUT_SECONDS
        while self._db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return  # without shared memory the mode stays as it was: slower, but correct
            except sqlite3.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):  # a full disk, a removed file
                raise StoreUnreadable(file=self.path, reason=str(error)) from error
            raise
