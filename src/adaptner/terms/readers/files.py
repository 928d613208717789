"""Opens the files of terminologies: plain or compressed, in UTF-8 or UTF-16, line by line."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

import numpy as np

from adaptner.errors import LoneCarriageReturn, NulCharacter, WrongEncoding
from adaptner.formats.lines import bounded_lines, decode_line, decompressed, open_for_reading

COMPRESSED = (".gz", ".xz")
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Opens a file; if its name ends in .gz or .xz, the decompressed content is read."""
    with open_for_reading(path) as raw, decompressed(path, raw) as file:
        yield file


def plain_name(path: Path) -> Path:
    """Returns the path without .gz or .xz."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def stem(path: Path) -> str:
    """Returns "mesh" for "terms/mesh.tsv.xz"."""
    return plain_name(path).stem


def first_line(path: Path) -> str:
    """Returns the first line that is neither blank nor a comment of OBO, or ""."""
    with open_binary(path) as file:
        for _, line in numbered_lines(file, path):
            if line.strip() and not line.startswith("!"):
                return line
    return ""


def numbered_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    """Yields line numbers from 1 and the lines of the whole file without their endings.

    Raises WrongEncoding, NulCharacter, LoneCarriageReturn, or LineTooLong.
    """
    file.seek(0)
    bom = file.read(2)
    file.seek(0)
    for number, line in _utf16_lines(file, path) if bom in _UTF16_BOMS else _lines(file, path):
        if "\r" in line:
            raise LoneCarriageReturn(file=path, line=number, position=line.index("\r") + 1)
        yield number, line


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    for number, raw in bounded_lines(file):
        yield number, decode_line(raw, path, number)


def _utf16_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    text = TextIOWrapper(file, encoding="utf-16", newline="\n")
    number = 0
    try:
        for number, line in enumerate(text, start=1):
            if "\0" in line:
                raise NulCharacter(file=path, line=number, position=line.index("\0") + 1)
            yield number, line.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise WrongEncoding(
            file=path,
            line=number + 1,
            byte=f"0x{error.object[error.start]:02x}",
            position=error.start + 1,
            guess="UTF-16",
        ) from error
    finally:
        text.detach()


class RepeatedIds:
    """Finds ids that occur more than once, with eight bytes of memory for an id."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._hashes = array("q", map(hash, ids))

    def add(self, id: str) -> None:
        self._hashes.append(hash(id))

    def hashes(self) -> set[int]:
        """Returns the hashes that occurred more than once."""
        values, counts = np.unique(np.asarray(self._hashes), return_counts=True)
        return set(values[counts > 1].tolist())
