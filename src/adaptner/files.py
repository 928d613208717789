"""Writing so that nothing is ever half-written: a file or folder appears whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

from adaptner.errors import DiskFull, FileUnreadable, OutputExists

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def translate_os_errors(target: Path) -> Iterator[None]:
    """What the system says of writing ``target``, said as one of our errors."""
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
    """Open a temporary neighbour of ``target`` and put it in place when the block ends well."""
    target = Path(target)
    with translate_os_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _neighbour(target)
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
def atomic_folder(target: str | Path, *, ours: str, kind: str) -> Iterator[Path]:
    """Fill a temporary neighbour of ``target`` and swap it in when the block ends well.

    An existing ``target`` is replaced only if it holds the file ``ours`` (so it is one of our own
    folders) or is empty: no command of ours deletes a user's other files.
    """
    target = Path(target)
    if target.exists() and not (
        target.is_dir() and ((target / ours).exists() or not any(target.iterdir()))
    ):
        raise OutputExists(file=target, kind=kind)
    with translate_os_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _neighbour(target)
        temporary.mkdir()
        try:
            yield temporary
            if target.exists():
                old = _neighbour(target)
                old.mkdir()
                try:
                    os.replace(target, old / "was")
                    os.replace(temporary, target)
                except OSError:
                    if not target.exists():
                        os.replace(old / "was", target)
                    raise
                finally:
                    shutil.rmtree(old, ignore_errors=True)
            else:
                os.replace(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def scratch_folder(target: str | Path) -> Iterator[Path]:
    """A hidden neighbour of ``target`` for the work on it, gone when the block ends, however it does."""
    target = Path(target)
    with translate_os_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _neighbour(target)
        temporary.mkdir()
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def digest(path: str | Path) -> str:
    """SHA-256 of a file, read in pieces."""
    state = sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            state.update(piece)
    return state.hexdigest()


def _neighbour(target: Path) -> Path:
    """A name beside ``target`` that nobody uses. Not ``tempfile``'s: what it makes is private to
    the user, whatever the umask says."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}")
