"""Opens the files of terminologies: plain or compressed, in UTF-8 or UTF-16, line by line."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

import numpy as np

from adaptner.errors import (
    BrokenUtf16,
    LoneCarriageReturn,
    NoNames,
    NulCharacter,
    RepeatedConcept,
)
from adaptner.formats.lines import bounded_lines, decode_line, decompressed, open_for_reading
from adaptner.terms.concepts import PREFIXES, Concept

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


def prefix_for(path: Path) -> str:
    """Returns the prefix of identifiers that have none in the file: "MESH" for "mesh.tsv.xz"."""
    stem = plain_name(path).stem
    return PREFIXES.get(stem) or re.sub(r"[^\w.-]+", "_", stem)


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
    # The wrapper decodes many lines at once, so errors are found line by line, in what it lets pass.
    text = TextIOWrapper(file, encoding="utf-16", errors="surrogatepass", newline="\n")
    number = 0
    try:
        for number, line in enumerate(text, start=1):
            line.encode("utf-8")
            if "\0" in line:
                raise NulCharacter(file=path, line=number, position=line.index("\0") + 1)
            yield number, line.removesuffix("\n").removesuffix("\r")
    except UnicodeEncodeError as error:
        unit = f"0x{ord(error.object[error.start]):04x}"
        raise BrokenUtf16(file=path, line=number, unit=unit, position=error.start + 1) from error
    except UnicodeDecodeError as error:  # half a character at the end of the file
        unit = f"0x{error.object[-1]:02x}"
        raise BrokenUtf16(file=path, line=number + 1, unit=unit, position=1) from error
    finally:
        if not file.closed:
            text.detach()  # or it would close the file


def unique_concepts(
    numbered: Callable[[], Iterable[tuple[int, Concept]]], path: Path
) -> Iterator[Concept]:
    """Yields the concepts without their line numbers, and then raises RepeatedConcept or NoNames.

    ``numbered`` is called again if an id occurs twice, to find its lines.
    """
    ids = RepeatedIds()
    concept = None
    for _, concept in numbered():
        ids.add(concept.id)
        yield concept
    if concept is None:
        raise NoNames(file=path)
    repeated = ids.hashes()
    first: dict[str, tuple[int, str]] = {}
    for line, concept in numbered() if repeated else ():
        if hash(concept.id) not in repeated:
            continue
        if concept.id in first:
            raise RepeatedConcept(
                file=path,
                line=line,
                id=concept.id,
                name=concept.name,
                first=first[concept.id][0],
                other=first[concept.id][1],
            )
        first[concept.id] = (line, concept.name)


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
