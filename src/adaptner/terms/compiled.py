"""The compiled file: names as hashes in sorted buckets, memory-mapped.

A key has 64 bits. Its top bits choose a bucket, the next 32 are kept as a fingerprint, so that two of some
million names share one by chance once in a thousand builds. The file starts with a magic number and a JSON
header that describes the arrays, with a checksum for each.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from adaptner.files import atomic_file, digest

MAGIC = b"adaptner terms 1\n"
BUCKET_BITS = 18
_FILTER_BITS = 27
BEGINNING_BITS = 22
_ALIGNMENT = 64


@dataclass(frozen=True, eq=False)
class CompiledTerms:
    """Names, the kinds and concepts of each, and statistics of text."""

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None  # where it was loaded from

    @cached_property
    def _filter(self) -> np.ndarray:
        """A bit for every possible beginning of a key: most spans of a text are ruled out by it."""
        buckets, prints = self.arrays["buckets"], self.arrays["fingerprints"]
        bucket = np.repeat(np.arange(len(buckets) - 1, dtype=np.uint64), np.diff(buckets))
        position = self._filter_position(bucket, prints)
        bits = np.zeros(1 << _FILTER_BITS, dtype=bool)
        bits[position] = True
        return np.packbits(bits, bitorder="little")

    def _filter_position(self, bucket: np.ndarray, prints: np.ndarray) -> np.ndarray:
        kept = _FILTER_BITS - BUCKET_BITS
        return (bucket << np.uint64(kept)) | (prints.astype(np.uint64) >> np.uint64(32 - kept))

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The entry of each mixed key, or -1."""
        found = np.full(len(keys), -1, dtype=np.int64)
        position = keys >> np.uint64(64 - _FILTER_BITS)
        byte = self._filter[position >> np.uint64(3)]
        maybe = np.flatnonzero((byte >> (position & np.uint64(7)).astype(np.uint8)) & 1)
        if not len(maybe):
            return found
        keys = keys[maybe]
        bucket = (keys >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)
        wanted = (keys >> np.uint64(32 - BUCKET_BITS)).astype(np.uint32)
        buckets, prints = self.arrays["buckets"], self.arrays["fingerprints"]
        low, high = buckets[bucket].astype(np.int64), buckets[bucket + 1].astype(np.int64)
        end = high.copy()
        while True:  # binary search in all buckets at once
            open_ = low < high
            if not open_.any():
                break
            middle = (low + high) >> 1
            below = open_ & (prints[np.minimum(middle, len(prints) - 1)] < wanted)
            low = np.where(below, middle + 1, low)
            high = np.where(open_ & ~below, middle, high)
        hit = low < end
        hit[hit] = prints[low[hit]] == wanted[hit]
        found[maybe[hit]] = low[hit]
        return found

    def begins(self, keys: np.ndarray) -> np.ndarray:
        """Whether a name of many tokens may begin with the words of each mixed key."""
        position = (keys >> np.uint64(64 - BEGINNING_BITS)).astype(np.int64)
        bits = self.arrays["beginnings"]
        return (bits[position >> 3] >> (position & 7).astype(np.uint8) & 1) > 0

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate([*self.facts["kinds"], *self.facts["attributes"]])}

    def mask_of(self, names: Iterable[str]) -> np.ndarray:
        """The bits of kinds and attributes, to compare with rows of ``kind_sets``."""
        mask = np.zeros(self.arrays["kind_sets"].shape[1], dtype=np.uint64)
        for name in names:
            place = self._places[name]
            mask[place // 64] |= np.uint64(1 << place % 64)
        return mask

    def counts(self, name: str) -> np.ndarray:
        """How often each entry was seen in raw text; zeros if none was counted."""
        found = self.arrays.get(name)
        return np.zeros(len(self.arrays["fingerprints"]), dtype=np.uint32) if found is None else found

    def save(self, path: str | Path) -> None:
        header: dict[str, Any] = {"facts": self.facts, "arrays": {}}
        offset = 0
        for name, array in self.arrays.items():
            offset = -(-offset // _ALIGNMENT) * _ALIGNMENT
            header["arrays"][name] = {
                "dtype": array.dtype.str,
                "shape": array.shape,
                "offset": offset,
                "crc": zlib.crc32(np.ascontiguousarray(array).data),
            }
            offset += array.nbytes
        text = json.dumps(header, ensure_ascii=False).encode()
        with atomic_file(path, "wb") as file:
            file.write(MAGIC + len(text).to_bytes(8, "little") + text)
            start = _data_start(len(text))
            for name, array in self.arrays.items():
                position = start + header["arrays"][name]["offset"]
                file.write(bytes(position - file.tell()))
                file.write(np.ascontiguousarray(array).data)

    def content(self) -> bytes:
        """What `save` writes."""
        assert self.path is not None  # compiled files are built once and loaded since
        return self.path.read_bytes()

    @cached_property
    def checksum(self) -> str:
        assert self.path is not None
        return digest(self.path)

    @classmethod
    def load(cls, path: str | Path) -> CompiledTerms:
        path = Path(path)
        with open(path, "rb") as file:
            assert file.read(len(MAGIC)) == MAGIC
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
        start = _data_start(size)
        data = np.memmap(path, dtype=np.uint8, mode="r")
        arrays = {}
        for name, a in header["arrays"].items():
            count = int(np.prod(a["shape"], dtype=np.int64))
            dtype = np.dtype(a["dtype"])
            begin = start + a["offset"]
            raw = data[begin : begin + count * dtype.itemsize]
            arrays[name] = raw.view(dtype).reshape(a["shape"])
        return cls(arrays, header["facts"], path)


def _data_start(header: int) -> int:
    return -(-(len(MAGIC) + 8 + header) // _ALIGNMENT) * _ALIGNMENT


def sorted_into_buckets(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first entry of each bucket, and the fingerprints, of ``keys``, which are sorted and distinct."""
    bucket = (keys >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)
    counts = np.bincount(bucket, minlength=1 << BUCKET_BITS)
    buckets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    return buckets, (keys >> np.uint64(32 - BUCKET_BITS)).astype(np.uint32)
