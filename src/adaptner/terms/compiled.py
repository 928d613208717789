"""Compiled terminologies: names as hashes in sorted buckets, with the kinds and concepts of each.

A key has 64 bits. Its top bits choose a bucket, the next 32 are kept as a fingerprint, so that two of some
million names share one by chance once in a thousand builds. An entry is the place of a name's fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adaptner.errors import TermsUnreadable
from adaptner.files import digest
from adaptner.terms import array_file

BUCKET_BITS = 18
BEGINNING_BITS = 22
# Names are seen in raw text of the field and in general text, and counted as
COUNTS = ("alone", "inside", "lower", "capitalised")
PREFERRED, RELATED, SYMBOL = 1, 2, 4  # marks of names; the upper bits of the byte are the breadth
BREADTH_SHIFT = 3
_FILTER_BITS = 26
_IDS_IN_BLOCK = 64


@dataclass(frozen=True, eq=False)
class CompiledTerms:
    """Names, the kinds and concepts of each, and statistics of text.

    ``arrays`` (n entries): "buckets", "fingerprints" (n), "kind_set" (n; a row of "kind_sets", which have a
    bit for each kind), "marks" (n), "concepts" (n; a concept, or a place in "concept_lists"), "beginnings"
    (bits for the beginnings of long names), "id_blocks" and "id_starts" (the ids and kinds of concepts), and where text
    was counted "seen" (the entries that text has), "field_alone" … (their counts, after a zero),
    "abbreviations" with "abbreviation_counts", and "ordinary_words" (the keys of words of general language).
    """

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None  # where it was loaded from

    def __len__(self) -> int:
        return len(self.arrays["fingerprints"])

    # --- names

    @cached_property
    def _filter(self) -> np.ndarray:
        """A bit for every possible beginning of a key: most spans of a text are ruled out by it."""
        buckets, prints = self.arrays["buckets"], self.arrays["fingerprints"]
        shift = _FILTER_BITS - BUCKET_BITS
        position = (prints >> np.uint32(32 - shift)).view(np.int32)
        position += np.repeat(
            np.arange(len(buckets) - 1, dtype=np.int32) << shift, (buckets[1:] - buckets[:-1])
        )
        bits = np.zeros(1 << (_FILTER_BITS - 3), dtype=np.uint8)
        bit = (position & 7).astype(np.uint8)
        position >>= 3
        for k in range(8):
            bits[position[bit == k]] |= np.uint8(1 << k)
        return bits

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
        found: np.ndarray = bits[position >> 3] >> (position & 7).astype(np.uint8) & 1
        return found > 0

    def marked(self, entries: np.ndarray, mark: int) -> np.ndarray:
        marks: np.ndarray = self.arrays["marks"][entries] & mark
        return marks > 0

    def breadth(self, entries: np.ndarray) -> np.ndarray:
        """The logarithm (to 2) of how many concepts are below the name's: 0 if none, 10 if a thousand."""
        breadth: np.ndarray = self.arrays["marks"][entries] >> BREADTH_SHIFT
        return breadth

    # --- kinds

    def kinds_of(self, entries: np.ndarray) -> np.ndarray:
        """(entries, words of 64 bits): a bit for each kind and attribute."""
        kinds: np.ndarray = self.arrays["kind_sets"][self.arrays["kind_set"][entries]]
        return kinds

    @cached_property
    def _places(self) -> dict[str, int]:
        nodes = [kind["name"] for kind in self.facts.get("node_kinds", ())]
        names = [*self.facts["kinds"], *self.facts["attributes"], *nodes]
        return {name: i for i, name in enumerate(names)}

    def sets_with(self, names: tuple[str, ...]) -> np.ndarray:
        """Whether each row of "kind_sets" has any of these kinds or attributes."""
        if (known := self._sets_with.get(names)) is None:
            known = ((self.arrays["kind_sets"] & self.mask_of(names)) != 0).any(1)
            self._sets_with[names] = known
        return known

    @cached_property
    def _sets_with(self) -> dict[tuple[str, ...], np.ndarray]:
        return {}

    @property
    def words_of_kinds(self) -> int:
        """How many words of "kind_sets" have the kinds and attributes that are not nodes."""
        return -(-(len(self.facts["kinds"]) + len(self.facts["attributes"])) // 64)

    def mask_of(self, names: Iterable[str]) -> np.ndarray:
        """The bits of kinds and attributes, to compare with `kinds_of`. A file that was compiled by another
        version may lack some, and no name has those."""
        mask = np.zeros(self.arrays["kind_sets"].shape[1], dtype=np.uint64)
        for name in names:
            if (place := self._places.get(name)) is not None:
                mask[place // 64] |= np.uint64(1 << place % 64)
        return mask

    # --- concepts

    def concepts_of(self, entry: int, kinds: Iterable[str] = ()) -> list[int]:
        """The numbers of the concepts that a name has, those that prefer the name first; with ``kinds`` only
        those that have one of them."""
        packed, lists = self.arrays["concepts"], self.arrays["concept_lists"]
        flag = 1 << (8 * packed.shape[1] - 1)
        value = int(unpacked(packed[entry]))
        concepts = [value]
        if value & flag:
            size, *concepts = unpacked(lists[value ^ flag : (value ^ flag) + 256]).tolist() or [0]
            concepts = concepts[:size]
        if not concepts or max(concepts) >= self.facts["concepts"]:
            raise TermsUnreadable(file=self.path, reason="its concepts do not fit together")
        if kinds := tuple(kinds):
            fits = ((self.arrays["kind_sets"] & self.mask_of(kinds)) != 0).any(1)
            return [concept for concept in concepts if fits[self._concept(concept)[1]]]
        return concepts

    def ids_of(self, entry: int, kinds: Iterable[str] = ()) -> list[str]:
        """The ids of those concepts ("MESH:D003920"), each once."""
        return list(dict.fromkeys(map(self.id_of, self.concepts_of(entry, kinds))))

    def id_of(self, concept: int) -> str:
        return self._concept(concept)[0]

    def _concept(self, concept: int) -> tuple[str, int]:
        """The id and the row of "kind_sets" of a concept."""
        return self._block(concept // _IDS_IN_BLOCK)[concept % _IDS_IN_BLOCK]

    @cached_property
    def _block(self) -> Callable[[int], list[tuple[str, int]]]:
        starts, blocks = self.arrays["id_starts"], self.arrays["id_blocks"]
        return lru_cache(maxsize=4096)(
            lambda block: _unpacked_ids(blocks[starts[block] : starts[block + 1]])
        )

    def source_of(self, concept: int) -> str:
        """The file that a concept comes from, without its ending: "mesh"."""
        sources = self.facts["sources"]
        return str(sources[bisect_right(sources, concept, key=itemgetter(1)) - 1][0])

    # --- text

    @cached_property
    def _row_of_entry(self) -> np.ndarray:
        rows = np.zeros(len(self), dtype=np.uint32)
        seen = self.arrays.get("seen", np.zeros(0, dtype=np.uint32))
        rows[seen] = np.arange(1, len(seen) + 1, dtype=np.uint32)
        return rows

    def counts(self, name: str) -> Counts:
        """How often entries were seen in raw text: "field_alone", "general_lower" (`COUNTS`)."""
        return Counts(self._row_of_entry, self.arrays.get(name))

    def is_ordinary(self, keys: np.ndarray) -> np.ndarray:
        """Whether each mixed key of a word is one of a word of general language."""
        known = self.arrays.get("ordinary_words", np.zeros(0, dtype=np.uint64))
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return known[place] == keys if len(known) else np.zeros(len(keys), dtype=bool)

    # --- files

    def save(self, path: str | Path) -> None:
        array_file.write(path, self.arrays, self.facts)

    def content(self) -> bytes:
        """What `save` writes."""
        if self.path is not None:
            return self.path.read_bytes()
        return array_file.content(self.arrays, self.facts)

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of the file."""
        if self.path is not None:
            return digest(self.path)
        return hashlib.sha256(self.content()).hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> CompiledTerms:
        """Raises a ModelError or InputError."""
        arrays, facts = array_file.read(path)
        if reason := _inconsistency(arrays, facts):
            raise TermsUnreadable(file=path, reason=reason)
        return cls(arrays, facts, Path(path))


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts for entries, which only those that text has are stored for."""

    rows: np.ndarray
    values: np.ndarray | None

    def __getitem__(self, entries: np.ndarray) -> np.ndarray:
        if self.values is None:
            return np.zeros(np.shape(entries), dtype=np.uint32)
        found: np.ndarray = self.values[self.rows[entries]]
        return found.astype(np.uint32)


class Facts(BaseModel):
    """What the header of a file says."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kinds: list[str]
    attributes: list[str]
    sources: list[tuple[str, int]]  # files, each with its first concept
    concepts: int
    names: dict[str, int] = {}  # how many names of each kind
    examples: dict[str, list[str]] = {}  # frequent names of each kind
    field_tokens: Annotated[int, Field(gt=0)] = 1_000_000
    general_tokens: Annotated[int, Field(gt=0)] = 1_000_000
    node_kinds: list[
        dict[str, Any]
    ] = []  # kinds that were chosen by counts (`node_kinds.NodeKind`)
    abbreviation_kinds: list[str] = []  # columns of "abbreviation_counts" after the first


# Arrays of every file, and those of counts, with their types and dimensions
_NEEDED = {
    "buckets": ("u4", 1),
    "fingerprints": ("u4", 1),
    "kind_set": ("u2 u4", 1),
    "kind_sets": ("u8", 2),
    "marks": ("u1", 1),
    "concepts": ("u1", 2),
    "concept_lists": ("u1", 2),
    "beginnings": ("u1", 1),
    "id_blocks": ("u1", 1),
    "id_starts": ("u4", 1),
}
_OF_TEXT = {f"{text}_{count}": ("u1 u2 u4", 1) for text in ("field", "general") for count in COUNTS}
_OF_TEXT |= {"seen": ("u4", 1), "abbreviations": ("u8", 1), "abbreviation_counts": ("u1 u2 u4", 2)}
_OF_TEXT["ordinary_words"] = ("u8", 1)


def _inconsistency(arrays: Mapping[str, np.ndarray], content: Mapping[str, Any]) -> str:
    """What does not fit together in a file that is complete, or ""."""
    for name, (dtypes, dimensions) in (_NEEDED | _OF_TEXT).items():
        array = arrays.get(name)
        if array is None and name in _OF_TEXT:
            continue
        if array is None or array.dtype.str[1:] not in dtypes.split() or array.ndim != dimensions:
            return f"its {name!r} is missing or of a wrong type"
    try:
        facts = Facts.model_validate_json(json.dumps(content))
    except ValidationError as error:
        return f"its facts are not valid ({error.errors()[0]['loc']})"
    size, sets, firsts = (
        len(arrays["fingerprints"]),
        arrays["kind_sets"],
        [n for _, n in facts.sources],
    )
    none = np.zeros(0, dtype=np.uint32)
    seen, abbreviations = arrays.get("seen", none), arrays.get("abbreviations", none)
    counts = [arrays[name] for name in arrays if name.startswith(("field_", "general_"))]
    of_abbreviations = arrays.get(
        "abbreviation_counts", np.zeros((0, 1 + len(facts.abbreviation_kinds)))
    )
    fits = {
        "buckets": len(arrays["buckets"]) == (1 << BUCKET_BITS) + 1
        and _ends(arrays["buckets"], size),
        "names": all(len(arrays[name]) == size for name in ("kind_set", "marks", "concepts")),
        "kinds": len(facts.kinds) + len(facts.attributes) + len(facts.node_kinds)
        <= 64 * sets.shape[1]
        and (not size or arrays["kind_set"].max() < len(sets)),
        "beginnings": len(arrays["beginnings"]) == 1 << (BEGINNING_BITS - 3),
        "concepts": arrays["concepts"].shape[1] == arrays["concept_lists"].shape[1] in (3, 4),
        "sources": firsts == sorted(firsts) and (not facts.concepts or firsts[:1] == [0]),
        "ids": _ends(arrays["id_starts"], len(arrays["id_blocks"]))
        and len(arrays["id_starts"]) - 1 == -(-facts.concepts // _IDS_IN_BLOCK),
        "counts": all(len(values) == len(seen) + 1 for values in counts)
        and (not len(seen) or seen.max() < size),
        "abbreviations": of_abbreviations.shape
        == (len(abbreviations), 1 + len(facts.abbreviation_kinds)),
    }
    return next((f"its {what} do not fit together" for what, well in fits.items() if not well), "")


def _ends(starts: np.ndarray, end: int) -> bool:
    """Whether ``starts`` goes from 0 to ``end`` without a step back."""
    ok = len(starts) > 0 and starts[0] == 0 and starts[-1] == end
    return bool(ok and (starts[1:] >= starts[:-1]).all())


def sorted_into_buckets(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first entry of each bucket, and the fingerprints, of ``keys``, which are sorted and distinct."""
    bucket = (keys >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)
    counts = np.bincount(bucket, minlength=1 << BUCKET_BITS)
    buckets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    return buckets, (keys >> np.uint64(32 - BUCKET_BITS)).astype(np.uint32)


def packed(values: np.ndarray, width: int) -> np.ndarray:
    """(…, width): numbers as ``width`` bytes."""
    return np.ascontiguousarray(values, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, :width]


def unpacked(numbers: np.ndarray) -> np.ndarray:
    """The numbers that `packed` made bytes of."""
    places = np.uint64(1) << np.arange(0, 8 * numbers.shape[-1], 8, dtype=np.uint64)
    return numbers.astype(np.uint64) @ places


def packed_ids(ids: Sequence[str], kind_sets: Sequence[int]) -> dict[str, np.ndarray]:
    """The arrays of concepts' ids and rows of "kind_sets": neighbours share most of their characters."""
    lines = [f"{id}\t{kind_set}" for id, kind_set in zip(ids, kind_sets, strict=True)]
    blocks = [
        zlib.compress("\n".join(lines[i : i + _IDS_IN_BLOCK]).encode(), 9)
        for i in range(0, len(lines), _IDS_IN_BLOCK)
    ]
    starts = np.cumsum([0, *map(len, blocks)], dtype=np.uint32)
    return {"id_blocks": np.frombuffer(b"".join(blocks), dtype=np.uint8), "id_starts": starts}


def _unpacked_ids(block: np.ndarray) -> list[tuple[str, int]]:
    lines = zlib.decompress(block.data).decode().split("\n")
    return [(id, int(kind_set)) for id, _, kind_set in (line.partition("\t") for line in lines)]
