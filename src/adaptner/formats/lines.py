"""Opens and decodes files for every format: strict UTF-8, any line ending, no NUL."""

from __future__ import annotations

import gzip
import lzma
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import IO, BinaryIO, NoReturn, cast

from adaptner.errors import (
    AdaptnerError,
    DamagedArchive,
    FileMissing,
    FileUnreadable,
    LineTooLong,
    NulCharacter,
    WrongEncoding,
)
from adaptner.files import atomic_file

STANDARD = "-"  # path of standard input and output

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SPOOL_IN_MEMORY = 1 << 24
# A document on one line is in memory several times; a longer line would need more than 500 MB.
MAX_LINE_BYTES = 1 << 24
_BLOCK_BYTES = 1 << 16
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)

ProblemCallback = Callable[[AdaptnerError], None]


def raise_problem(problem: AdaptnerError) -> NoReturn:
    """Raises the problem, which ends reading; ``adaptner check`` collects problems instead."""
    raise problem


@contextmanager
def open_for_reading(path: str | Path) -> Iterator[BinaryIO]:
    """Opens the file at ``path`` for reading; a pipe is copied first, so that it can be rewound."""
    if str(path) == STANDARD:
        with _spooled(sys.stdin.buffer) as file:
            yield file
        return
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below; errors of the body must pass through)
    except FileNotFoundError as error:
        raise FileMissing(file=path, hint="relative paths start at the current folder") from error
    except OSError as error:
        raise FileUnreadable(file=path, reason=error.strerror or str(error)) from error
    with file:
        if file.seekable():
            yield file
        else:
            with _spooled(file) as spooled:
                yield spooled


@contextmanager
def _spooled(source: BinaryIO) -> Iterator[BinaryIO]:
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_IN_MEMORY) as spool:
        shutil.copyfileobj(source, spool)
        spool.seek(0)
        yield cast(BinaryIO, spool)


@contextmanager
def decompressed(path: Path, raw: BinaryIO) -> Iterator[BinaryIO]:
    """Yields the decompressed file; a damaged one raises DamagedArchive when read."""
    ending = path.suffix.lower()
    try:
        if ending == ".gz":
            yield cast(BinaryIO, BufferedReader(gzip.GzipFile(fileobj=raw)))  # type: ignore[arg-type]
        elif ending == ".xz":
            yield cast(BinaryIO, BufferedReader(lzma.LZMAFile(raw)))  # type: ignore[arg-type]  # noqa: SIM115
        else:
            yield raw
    except _DAMAGE as error:
        tool = "xz" if ending == ".xz" else "gzip"
        raise DamagedArchive(file=path, reason=str(error) or "truncated", tool=tool) from error
    except OSError as error:
        raise FileUnreadable(file=path, reason=error.strerror or str(error)) from error


@contextmanager
def open_for_writing(path: str | Path) -> Iterator[IO[str]]:
    """Opens a file that appears at ``path`` or on standard output only when it is complete."""
    if str(path) != STANDARD:
        with atomic_file(path) as file:
            yield file
        return
    with tempfile.SpooledTemporaryFile(_SPOOL_IN_MEMORY) as spool:
        text = TextIOWrapper(cast(BinaryIO, spool), encoding="utf-8", newline="\n")
        yield text
        text.flush()
        spool.seek(0)
        sys.stdout.flush()
        shutil.copyfileobj(spool, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def bounded_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields line numbers from 1 and lines.

    Longer lines are truncated to MAX_LINE_BYTES + 1 bytes, for which ``decode_line`` raises.
    """
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        rest = raw if len(raw) > MAX_LINE_BYTES else b""
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(_BLOCK_BYTES)
        yield number, raw


def line_blocks(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yields the line number, the offset in the line, and a line or a block of a long line.

    Blocks end between two characters.
    """
    number, offset, rest = 1, 0, b""
    while raw := rest + file.readline(_BLOCK_BYTES):
        rest = b""
        if len(raw) >= _BLOCK_BYTES and not raw.endswith(b"\n"):
            last = len(raw) - 1
            while last > len(raw) - 4 and raw[last] & 0xC0 == 0x80:  # a continuation byte of UTF-8
                last -= 1
            raw, rest = raw[:last], raw[last:]
        yield number, offset, raw
        offset += len(raw)
        if raw.endswith(b"\n"):
            number, offset = number + 1, 0


def decode_line(
    raw: bytes, file: str | Path, line: int, *, keep_end: bool = False, offset: int = 0
) -> str:
    """Decodes a line, by default without its line ending.

    ``offset`` is the position of ``raw`` in the line, if ``raw`` is a block of it. Raises
    LineTooLong, WrongEncoding, or NulCharacter.
    """
    if len(raw) > MAX_LINE_BYTES:
        raise LineTooLong(file=file, line=line, most=f"{MAX_LINE_BYTES >> 20} MB")
    if line == 1 and not offset and raw.startswith(_BOM):
        raw = raw[len(_BOM) :]
    if not keep_end:
        raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if line == 1 and not offset and raw.startswith(_UTF16_BOMS):
        raise WrongEncoding(
            file=file, line=line, byte=f"0x{raw[0]:02x}", position=1, guess="UTF-16"
        )
    if b"\0" in raw:
        raise NulCharacter(file=file, line=line, position=offset + raw.index(b"\0") + 1)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WrongEncoding(
            file=file,
            line=line,
            byte=f"0x{raw[error.start]:02x}",
            position=offset + error.start + 1,
            guess="WINDOWS-1252",
        ) from error
