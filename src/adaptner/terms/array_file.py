"""A file of arrays and facts, memory-mapped, so that all processes share it.

It has a magic text, the version, a JSON header that describes each array with its checksum, and the arrays.
Everything is checked when a file is loaded: one that was cut off or altered is never used.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adaptner.errors import FileMissing, FileUnreadable, ModelTooNew, TermsUnreadable
from adaptner.files import atomic_file

_MAGIC = b"adaptner terms\r\n"  # a transfer as text would change the line ending
_VERSION = 3
_DTYPES = ("|u1", "<u2", "<u4", "<u8")
_ALIGNMENT = 64
_PREFIX = len(_MAGIC) + 4 + 8 + 4  # then the version, and the size and checksum of the header


class _Array(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    dtype: str
    shape: Annotated[
        list[Annotated[int, Field(ge=0, lt=1 << 40)]], Field(min_length=1, max_length=2)
    ]
    offset: Annotated[int, Field(ge=0)]
    crc: int


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    facts: dict[str, Any]
    arrays: dict[str, _Array]


def content(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> bytes:
    """Returns what `write` writes."""
    return b"".join(_parts(arrays, facts))


def write(path: str | Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
    with atomic_file(path, "wb") as file:
        for part in _parts(arrays, facts):
            file.write(part)


def _parts(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> Iterator[bytes]:
    contents, described, offset = [], {}, 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        data = array.tobytes()
        described[name] = _Array(
            dtype=array.dtype.str, shape=list(array.shape), offset=offset, crc=zlib.crc32(data)
        )
        contents.append(data + bytes(-len(data) % _ALIGNMENT))
        offset += len(contents[-1])
    header = _Header(facts=dict(facts), arrays=described)
    text = json.dumps(header.model_dump(), ensure_ascii=False).encode()
    numbers = (_VERSION.to_bytes(4, "little"), len(text).to_bytes(8, "little"))
    yield b"".join((_MAGIC, *numbers, zlib.crc32(text).to_bytes(4, "little"), text))
    yield bytes(-(_PREFIX + len(text)) % _ALIGNMENT)
    yield from contents


def read(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Returns the arrays, which cannot be written to, and the facts. Raises a ModelError or InputError."""
    path = Path(path)
    try:
        with open(path, "rb") as file:
            prefix = file.read(_PREFIX)
            if prefix[: len(_MAGIC)] != _MAGIC:
                raise TermsUnreadable(file=path, reason="it begins otherwise than such a file")
            if len(prefix) < _PREFIX:
                raise TermsUnreadable(file=path, reason="it is cut off")
            version, size, crc = (
                int.from_bytes(prefix[a:b], "little")
                for a, b in ((-16, -12), (-12, -4), (-4, None))
            )
            if version > _VERSION:
                raise ModelTooNew(file=path, found=version, known=_VERSION)
            if version < _VERSION:
                raise TermsUnreadable(file=path, reason=f"it is in the old format {version}")
            data = np.memmap(file, dtype=np.uint8, mode="r").view(np.ndarray)
    except FileNotFoundError as error:
        raise FileMissing(file=path, hint="make it with `adaptner terms build`") from error
    except OSError as error:
        raise FileUnreadable(file=path, reason=error.strerror or str(error)) from error
    text = data[_PREFIX : _PREFIX + size].tobytes() if size <= len(data) else b""
    if len(text) != size or zlib.crc32(text) != crc:
        raise TermsUnreadable(file=path, reason="it is cut off, or its header was altered")
    try:
        header = _Header.model_validate_json(text)
    except ValidationError as error:
        raise TermsUnreadable(file=path, reason="its header is not valid") from error
    start = _PREFIX + size + -(_PREFIX + size) % _ALIGNMENT
    return {
        name: _array(data[start:], name, described, path)
        for name, described in header.arrays.items()
    }, header.facts


def _array(data: np.ndarray, name: str, described: _Array, path: Path) -> np.ndarray:
    if described.dtype not in _DTYPES or described.offset % _ALIGNMENT:
        raise TermsUnreadable(file=path, reason=f"its header is not valid ({name})")
    dtype = np.dtype(described.dtype)
    size = dtype.itemsize
    for length in described.shape:  # Python's numbers do not overflow
        size *= length
    content = data[described.offset : described.offset + size]
    if len(content) != size:
        raise TermsUnreadable(file=path, reason="it is cut off")
    if zlib.crc32(content.data) != described.crc:
        raise TermsUnreadable(file=path, reason=f"its content was altered ({name})")
    return content.view(dtype).reshape(described.shape)
