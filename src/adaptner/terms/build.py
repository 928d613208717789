"""Compiles concepts into one file."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from adaptner.terms.compiled import BEGINNING_BITS, CompiledTerms, sorted_into_buckets
from adaptner.terms.concepts import Concept
from adaptner.terms.hashing import is_symbol, mixed_symbol_keys, SHORT_SPAN, beginning_key, mixed_word_keys, name_key
from adaptner.terms.kinds import Kind, KindFinder, built_in_kinds

MAX_TOKENS = 24
# Marks of a name that stand beside its kinds.
MARKS = ("preferred", "related synonym", "symbol", "short")
_LOWER, _ABBREVIATED = 16, 32  # while compiling: "mouse"; "E. coli", made from "Escherichia coli"
_BINOMIAL = re.compile(r"([A-Z])[a-z]+ ([a-z]{3,}(?:-[a-z]+)?)")
_QUALIFIER = re.compile(r" \((?:[a-z][a-z -]+)\)$")  # "mercury (element)", "food (raw)"


def names_of(concept: Concept) -> Iterator[tuple[str, int]]:
    """The names of a concept with their marks."""
    scopes = "P" + (concept.scopes or "E" * len(concept.synonyms))
    for name, scope in zip(concept.names, scopes, strict=True):
        mark = 1 if scope == "P" else 2 if scope in "RB" else 0
        yield name, mark | (_LOWER if name[:1].islower() else 0)


def _abbreviated_names(concept: Concept) -> Iterator[str]:
    """"E coli" for "Escherichia coli"."""
    for name in concept.names:
        if parts := _BINOMIAL.fullmatch(name):
            yield f"{parts[1]} {parts[2]}"


def compile_concepts(
    sources: Iterable[tuple[str, Iterable[Concept]]], kinds: tuple[Kind, ...] | None = None
) -> CompiledTerms:
    kinds = kinds or built_in_kinds()
    finder = KindFinder(kinds)
    abbreviated = {root for kind in kinds if kind.names == "abbreviated" for root in kind.roots}
    beginnings = array("Q")
    keys, concepts, marks = array("Q"), array("I"), array("B")
    ids: list[str] = []
    source_starts: dict[str, int] = {}
    for source, found in sources:
        source_starts[source] = len(ids)
        for concept in found:
            finder.add(concept, source)
            number = len(ids)
            ids.append(concept.id)
            for name, mark in names_of(concept):
                name = _QUALIFIER.sub("", name)
                key = name_key(name)
                if key is not None and key.tokens > SHORT_SPAN:
                    beginnings.append(beginning_key(name))
                if key is None or key.tokens > MAX_TOKENS or key.length < 2 or name.isdigit():
                    continue
                symbol = is_symbol(name)
                as_word = not symbol or (
                    any(c.isdigit() for c in name) and any(c.isalpha() for c in name)
                )
                if symbol and len(name) <= 3 and name[1:].islower():
                    as_word = True  # "Eye" and "Abl": decided below, by the kind
                if as_word:
                    keys.append(key.word)
                    concepts.append(number)
                    marks.append(mark | (4 if symbol else 0))
                if symbol:
                    keys.append(key.symbol)
                    concepts.append(number)
                    marks.append(mark | 4 | 128)
            if f"file:{source}" in abbreviated:
                for name in _abbreviated_names(concept):
                    if key := name_key(name):
                        keys.append(key.word)
                        concepts.append(number)
                        marks.append(_ABBREVIATED)
    masks = np.zeros((len(ids), -(-len(kinds) // 64)), dtype=np.uint64)
    for number, concept_id in enumerate(ids):
        masks[number] = _mask_of(finder.kinds_of(concept_id), masks.shape[1])
    terms = _assemble(
        np.frombuffer(keys, dtype=np.uint64),
        np.frombuffer(concepts, dtype=np.uint32),
        np.frombuffer(marks, dtype=np.uint8),
        masks,
        ids,
        finder.breadth(),
        source_starts,
        kinds,
    )
    bits = np.zeros(1 << BEGINNING_BITS, dtype=np.uint8)
    of_names = mixed_word_keys(np.frombuffer(beginnings, dtype=np.uint64))
    bits[(of_names >> np.uint64(64 - BEGINNING_BITS)).astype(np.int64)] = 1
    terms.arrays["beginnings"] = np.packbits(bits, bitorder="little")
    return terms


def _mask_of(bits: int, words: int) -> np.ndarray:
    """The bits of a number of any size in words of 64 bits, the lowest first."""
    return np.array([bits >> (64 * word) & (2**64 - 1) for word in range(words)], dtype=np.uint64)


def _allowed(kinds: tuple[Kind, ...], mark: int, words: int) -> np.ndarray:
    """The bits of the kinds that a name with these marks may have."""
    bits = 0
    for i, kind in enumerate(kinds):
        if kind.names:
            fits = mark & {"lower": _LOWER, "abbreviated": _ABBREVIATED}[kind.names]
        else:
            fits = not (kind.is_attribute and mark & _ABBREVIATED)
        if fits and (mark & 1 or not kind.only_preferred):
            bits |= 1 << i
    return _mask_of(bits, words)


def _assemble(keys, concepts, marks, masks, ids, breadth, source_starts, kinds) -> CompiledTerms:
    is_symbol_key = marks >= 128
    mixed = np.where(is_symbol_key, mixed_symbol_keys(keys), mixed_word_keys(keys))
    marks = marks & 127
    keep = masks.any(1)[concepts]
    mixed, concepts, marks = mixed[keep], concepts[keep], marks[keep]
    allowed = np.array([_allowed(kinds, mark, masks.shape[1]) for mark in range(128)])
    order = np.lexsort((concepts, ~marks & 1, mixed))  # preferred names first
    mixed, concepts, marks = mixed[order], concepts[order], marks[order]
    first = np.concatenate([[True], mixed[1:] != mixed[:-1]])
    starts = np.flatnonzero(first)
    sets = np.bitwise_or.reduceat(masks[concepts] & allowed[marks], starts, axis=0)
    marks = marks & ~np.uint8(_LOWER | _ABBREVIATED)
    mark_any = np.bitwise_or.reduceat(marks, starts)
    exact_any = np.bitwise_or.reduceat((marks & 2) ^ 2, starts)  # some name that is not related
    mark_any = np.where(exact_any > 0, mark_any & ~np.uint8(2), mark_any)
    logs = np.array([breadth[i] for i in ids], dtype=np.float32)
    logs = np.ceil(np.log2(1 + logs)).astype(np.uint8)  # 0: nothing below; 10: about a thousand
    widest = np.maximum.reduceat(logs[concepts], starts)
    distinct, set_number = np.unique(sets, axis=0, return_inverse=True)
    buckets, prints = sorted_into_buckets(mixed[first])
    counts = np.diff([*starts, len(mixed)])
    lists = np.where(counts == 1, concepts[starts], 0).astype(np.uint32)
    pool = []
    size = 0
    many = np.flatnonzero(counts > 1)
    for entry in many:
        begin = starts[entry]
        unique = list(dict.fromkeys(concepts[begin : begin + counts[entry]].tolist()))[:31]
        if len(unique) == 1:
            lists[entry] = unique[0]
            continue
        lists[entry] = 0x80000000 | size
        pool += [len(unique), *unique]
        size += 1 + len(unique)
    arrays = {
        "buckets": buckets,
        "fingerprints": prints,
        "kind_set": set_number.astype(np.uint32 if len(distinct) > 65535 else np.uint16).ravel(),
        "marks": mark_any.astype(np.uint8),
        "breadth": widest,
        "kind_sets": distinct,
        "concepts": lists,
        "concept_lists": np.array(pool, dtype=np.uint32),
    }
    facts = {
        "kinds": [k.name for k in kinds if not k.is_attribute],
        "attributes": [k.name for k in kinds if k.is_attribute],
        "sources": source_starts,
    }
    terms = CompiledTerms(arrays, facts)
    return terms
