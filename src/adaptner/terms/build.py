"""Compiles concepts into one file."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from adaptner.terms.compiled import (
    BEGINNING_BITS,
    BREADTH_SHIFT,
    PREFERRED,
    RELATED,
    SYMBOL,
    CompiledTerms,
    packed,
    packed_ids,
    sorted_into_buckets,
)
from adaptner.terms.concepts import Concept
from adaptner.terms.hashing import (
    SHORT_SPAN,
    NameKey,
    beginning_key,
    is_symbol,
    mixed_symbol_keys,
    mixed_word_keys,
    name_key,
)
from adaptner.terms.kinds import Kind, KindFinder, built_in_kinds
from adaptner.terms.matching import LONG_SPAN

_MOST_CONCEPTS = 31  # of a name
_QUALIFIER = re.compile(r" \((?:[a-z][a-z -]+)\)$")  # "mercury (element)", "food (raw)"
_BINOMIAL = re.compile(r"([A-Z])[a-z]+ ([a-z]{3,}(?:-[a-z]+)?)")
# Marks while names are collected: "mouse"; "E. coli", made from "Escherichia coli"; a key with its case
_LOWER, _ABBREVIATED, _EXACT = 16, 32, 128


def compile_concepts(
    sources: Iterable[tuple[str, Iterable[Concept]]],
    kinds: Sequence[Kind] | None = None,
    *,
    confirmed_by: Mapping[str, Sequence[str]] | None = None,
    exclude: Iterable[str] = (),
    every_name: bool = False,
) -> CompiledTerms:
    """Returns the names of all ``sources``, which are named and in the order in which ids are listed.

    ``confirmed_by``: of the names of some sources only those remain that one of these others has too.
    ``exclude``: names that are left out, however they are written. ``every_name``: single characters and
    numbers are names too, and names are taken as they are.
    """
    kinds = tuple(kinds or built_in_kinds())
    finder = KindFinder(kinds)
    abbreviated = {root for kind in kinds if kind.names == "abbreviated" for root in kind.roots}
    names = _Names(every_name)
    ids: list[str] = []
    of_source: dict[str, tuple[int, int]] = {}
    for source, concepts in sources:
        first = len(ids)
        for concept in concepts:
            finder.add(concept, source)
            names.add(concept, len(ids), f"file:{source}" in abbreviated)
            ids.append(concept.id)
        of_source[source] = (first, len(ids))
    words = -(-len(kinds) // 64)
    kinds_of = np.array([_mask_of(finder.kinds_of(id), words) for id in ids], dtype=np.uint64)
    kinds_of = kinds_of.reshape(-1, words)
    rows = names.rows()
    allowed = np.array([_allowed(kinds, mark, words) for mark in range(128)])
    of_rows = kinds_of[rows.concepts] & allowed[rows.marks]
    keep: np.ndarray = of_rows.any(1) & ~np.isin(rows.keys, _keys_of_names(exclude))
    for source, others in (confirmed_by or {}).items():
        keep &= _confirmed(rows, source, others, of_source)
    rows, of_rows = rows.select(keep), of_rows[keep]
    # Concepts get new numbers: only those with names, by id within their source.
    used = np.unique(rows.concepts)
    starts = [int(np.searchsorted(used, first)) for first, _ in of_source.values()]
    parts = np.split(used, starts)
    order = np.array([n for part in parts for n in sorted(part.tolist(), key=ids.__getitem__)], int)
    new_numbers = np.zeros(len(ids), dtype=np.uint32)
    new_numbers[order] = np.arange(len(order), dtype=np.uint32)
    rows.concepts = new_numbers[rows.concepts]
    breadth = finder.breadth()
    breadths = np.array([breadth[ids[number]] for number in order.tolist()], dtype=np.float64)
    arrays, sets_of_concepts = _entries(rows, of_rows, breadths, kinds_of[order])
    arrays |= packed_ids([ids[number] for number in order.tolist()], sets_of_concepts)
    arrays["beginnings"] = names.beginnings()
    facts = {
        "kinds": [k.name for k in kinds if not k.is_attribute],
        "attributes": [k.name for k in kinds if k.is_attribute],
        "sources": [[name, start] for name, start in zip(of_source, starts, strict=True)],
        "concepts": len(order),
        "names": _names_of_kinds(arrays, [k.name for k in kinds if not k.is_attribute]),
    }
    return CompiledTerms(arrays, facts)


def names_of(concept: Concept) -> Iterator[tuple[str, int]]:
    """The names of a concept with their marks."""
    scopes = "P" + (concept.scopes or "E" * len(concept.synonyms))
    for name, scope in zip(concept.names, scopes, strict=True):
        mark = PREFERRED if scope == "P" else RELATED if scope in "RB" else 0
        yield name, mark | (_LOWER if name[:1].islower() else 0)


def _abbreviated_names(concept: Concept) -> Iterator[str]:
    """ "E coli" for "Escherichia coli" """
    for name in concept.names:
        if parts := _BINOMIAL.fullmatch(name):
            yield f"{parts[1]} {parts[2]}"


class _Rows:
    """A key of a name, with its concept and marks, in each row."""

    def __init__(self, keys: np.ndarray, concepts: np.ndarray, marks: np.ndarray) -> None:
        self.keys, self.concepts, self.marks = keys, concepts, marks

    def select(self, rows: np.ndarray) -> _Rows:
        return _Rows(self.keys[rows], self.concepts[rows], self.marks[rows])

    def of(self, first: int, end: int) -> np.ndarray:
        """Whether the rows are of concepts from ``first`` to ``end``."""
        return (self.concepts >= first) & (self.concepts < end)


class _Names:
    """Collects names with few bytes for each."""

    def __init__(self, every_name: bool) -> None:
        self._every_name = every_name
        self._keys, self._concepts, self._marks = array("Q"), array("I"), array("B")
        self._beginnings = array("Q")

    def add(self, concept: Concept, number: int, abbreviate: bool) -> None:
        for name, mark in names_of(concept):
            if not self._every_name:
                name = _QUALIFIER.sub("", name)
            key = self._key(name)
            if key is None:
                continue
            if key.tokens > SHORT_SPAN:
                self._beginnings.append(beginning_key(name))
            symbol = is_symbol(name)
            if symbol:
                mark |= SYMBOL
                self._add(key.symbol, number, mark | _EXACT)
            if has_key_without_case(name):
                self._add(key.word, number, mark)
        for name in _abbreviated_names(concept) if abbreviate else ():
            if key := self._key(name):
                self._add(key.word, number, _ABBREVIATED)

    def _key(self, name: str) -> NameKey | None:
        """The key of a name, or None if text can never match it, or only as a number or character."""
        key = name_key(name)
        if key is None or key.tokens > LONG_SPAN:
            return None
        return key if self._every_name or (key.length > 1 and not name.isdigit()) else None

    def _add(self, key: int, number: int, mark: int) -> None:
        self._keys.append(key)
        self._concepts.append(number)
        self._marks.append(mark)

    def rows(self) -> _Rows:
        keys, marks = (
            np.frombuffer(self._keys, dtype=np.uint64),
            np.frombuffer(self._marks, dtype=np.uint8),
        )
        mixed = np.where(marks >= _EXACT, mixed_symbol_keys(keys), mixed_word_keys(keys))
        return _Rows(
            mixed, np.frombuffer(self._concepts, dtype=np.uint32), marks & ~np.uint8(_EXACT)
        )

    def beginnings(self) -> np.ndarray:
        """A bit for each beginning of a long name."""
        keys = mixed_word_keys(np.frombuffer(self._beginnings, dtype=np.uint64))
        bits = np.zeros(1 << BEGINNING_BITS, dtype=bool)
        bits[(keys >> np.uint64(64 - BEGINNING_BITS)).astype(np.int64)] = True
        return np.packbits(bits, bitorder="little")


def has_key_without_case(name: str) -> bool:
    """Whether a name is looked up without its case too: words, but also "IL2", and "Eye", which rules may
    doubt."""
    if not is_symbol(name):
        return True
    letters_and_digits = any(c.isdigit() for c in name) and any(c.isalpha() for c in name)
    return letters_and_digits or (len(name) <= 3 and name[1:].islower())


def _confirmed(
    rows: _Rows, source: str, others: Sequence[str], of_source: Mapping[str, tuple[int, int]]
) -> np.ndarray:
    """Whether each row is not of ``source``, or has a name that one of the ``others`` has too."""
    confirming = np.zeros(len(rows.keys), dtype=bool)
    for other in others:
        confirming |= rows.of(*of_source.get(other, (0, 0)))
    doubtful = rows.of(*of_source.get(source, (0, 0)))
    return ~doubtful | np.isin(rows.keys, rows.keys[confirming])


def _keys_of_names(names: Iterable[str]) -> np.ndarray:
    """The mixed keys of names, with their case and without."""
    keys = [key for key in map(name_key, names) if key is not None]
    words = np.array([key.word for key in keys], dtype=np.uint64)
    symbols = np.array([key.symbol for key in keys], dtype=np.uint64)
    return np.concatenate([mixed_word_keys(words), mixed_symbol_keys(symbols)])


def _mask_of(bits: int, words: int) -> np.ndarray:
    """The bits of a number of any size in words of 64 bits, the lowest first."""
    return np.array([bits >> (64 * word) & (2**64 - 1) for word in range(words)], dtype=np.uint64)


def _allowed(kinds: Sequence[Kind], mark: int, words: int) -> np.ndarray:
    """The bits of the kinds that a name with these marks may have."""
    bits = 0
    for i, kind in enumerate(kinds):
        if kind.names:
            fits = mark & {"lower": _LOWER, "abbreviated": _ABBREVIATED}[kind.names]
        else:
            fits = not (kind.is_attribute and mark & _ABBREVIATED)
        if fits and (mark & PREFERRED or not kind.only_preferred):
            bits |= 1 << i
    return _mask_of(bits, words)


def _entries(
    rows: _Rows, of_rows: np.ndarray, breadths: np.ndarray, of_concepts: np.ndarray
) -> tuple[dict[str, np.ndarray], list[int]]:
    """The arrays of names, with one entry for each distinct key, and the row of "kind_sets" of each
    concept. ``of_rows`` and ``of_concepts`` are kinds, ``breadths`` those of concepts."""
    order = np.lexsort((rows.concepts, (rows.marks & PREFERRED) == 0, rows.keys))
    rows, of_rows = rows.select(order), of_rows[order]
    first = np.ones(len(rows.keys), dtype=bool)
    first[1:] = rows.keys[1:] != rows.keys[:-1]
    starts = np.flatnonzero(first)
    of_names = np.bitwise_or.reduceat(of_rows, starts, axis=0)
    distinct, kind_set = np.unique(
        np.concatenate([of_names, of_concepts]), axis=0, return_inverse=True
    )
    kind_set = kind_set.ravel().astype(np.uint16 if len(distinct) <= 1 << 16 else np.uint32)
    rows.marks = rows.marks & ~np.uint8(_LOWER | _ABBREVIATED)
    marks = np.bitwise_or.reduceat(rows.marks, starts)
    always_related = np.bitwise_and.reduceat(rows.marks, starts) & RELATED
    marks = (marks & ~np.uint8(RELATED)) | always_related
    widest = np.maximum.reduceat(breadths[rows.concepts], starts)
    marks |= np.ceil(np.log2(1 + widest)).astype(np.uint8) << BREADTH_SHIFT
    buckets, fingerprints = sorted_into_buckets(rows.keys[starts])
    concepts, lists = _concepts(rows.concepts, starts, len(breadths))
    arrays = {
        "buckets": buckets,
        "fingerprints": fingerprints,
        "kind_set": kind_set[: len(starts)],
        "kind_sets": distinct,
        "marks": marks,
        "concepts": concepts,
        "concept_lists": lists,
    }
    return arrays, kind_set[len(starts) :].tolist()


def _names_of_kinds(arrays: dict[str, np.ndarray], kinds: Sequence[str]) -> dict[str, int]:
    """How many names each kind has; a name with its case and without counts twice."""
    sizes = np.bincount(arrays["kind_set"], minlength=len(arrays["kind_sets"]))
    bits = [
        arrays["kind_sets"][:, i // 64] >> np.uint64(i % 64) & np.uint64(1)
        for i in range(len(kinds))
    ]
    return {kind: int(sizes[has > 0].sum()) for kind, has in zip(kinds, bits, strict=True)}


def _concepts(
    concepts: np.ndarray, starts: np.ndarray, known: int
) -> tuple[np.ndarray, np.ndarray]:
    """The concept of each entry, or with the highest bit the place of its list, which follows its length."""
    ends = np.append(starts[1:], len(concepts))
    values = concepts[starts].astype(np.uint64)
    lists: list[int] = []
    places: dict[int, int] = {}
    for entry in np.flatnonzero(ends - starts > 1).tolist():
        distinct = dict.fromkeys(concepts[starts[entry] : ends[entry]].tolist())
        if len(distinct) > 1:
            places[entry] = len(lists)
            lists += [min(len(distinct), _MOST_CONCEPTS), *[*distinct][:_MOST_CONCEPTS]]
    width = 3 if max(known, len(lists)) < 1 << 23 else 4
    flag = np.uint64(1 << (8 * width - 1))
    values[list(places)] = np.array(list(places.values()), dtype=np.uint64) | flag
    return packed(values, width), packed(np.array(lists, dtype=np.uint64), width)
