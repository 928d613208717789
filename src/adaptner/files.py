"""Atomic writes: a file or folder appears complete or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from adaptner.errors import DiskFull, FileUnreadable, OutputExists

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def translate_os_errors(target: Path) -> Iterator[None]:
    """Raises a full disk or an unwritable ``target`` as an AdaptnerError."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise DiskFull(file=target, needed="a few times the size of the result") from error
        if error.filename is not None and str(target.parent) in str(error.filename):
            raise FileUnreadable(file=target, reason=error.strerror or str(error)) from error
        raise


@contextmanager
def atomic_file(target: str | Path, mode: str = "w") -> Iterator[IO]:  # type: ignore[type-arg]
    """Opens a temporary file and renames it to ``target`` if the block raises no exception."""
    target = Path(target)
    with translate_os_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary_path(target)
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        try:
            encoding = None if "b" in mode else "utf-8"
            newline = None if "b" in mode else "\n"
            with os.fdopen(handle, mode, encoding=encoding, newline=newline) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(target: str | Path, *, marker: str, kind: str) -> Iterator[Path]:
    """Creates a temporary folder and renames it to ``target`` if the block raises no exception.

    An existing ``target`` is replaced only if it is empty or contains the file ``marker``, which
    shows that adaptner wrote it; otherwise OutputExists is raised with ``kind``. This keeps a
    mistyped path from deleting a user's files.
    """
    target = Path(target)
    if target.exists() and not (
        target.is_dir() and ((target / marker).exists() or not any(target.iterdir()))
    ):
        raise OutputExists(file=target, kind=kind)
    with scratch_folder(target) as temporary:
        yield temporary
        if not target.exists():
            os.replace(temporary, target)
            return
        with scratch_folder(target) as old:
            os.replace(target, old / "content")
            try:
                os.replace(temporary, target)
            except OSError:
                if not target.exists():
                    os.replace(old / "content", target)
                raise


@contextmanager
def scratch_folder(target: str | Path) -> Iterator[Path]:
    """Yields a hidden folder beside ``target`` and deletes it when the block ends or raises."""
    target = Path(target)
    with translate_os_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary_path(target)
        temporary.mkdir()
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def digest(path: str | Path) -> str:
    """Returns the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _temporary_path(target: Path) -> Path:
    """Returns an unused path beside ``target``. Files made by ``tempfile`` would ignore the umask
    and be private to the user."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}")
