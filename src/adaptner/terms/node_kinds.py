"""Kinds that nobody wrote down: nodes of the hierarchies below which raw text names enough.

`kinds.toml` has the kinds with rules. Beside them every node becomes one that text itself calls by its name,
and of whose names below it some dozens occur: "cytokine", "opioid", "heart valve".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from adaptner.terms.compiled import RELATED, CompiledTerms, unpacked
from adaptner.terms.concepts import Concept
from adaptner.terms.hashing import mixed_word_keys, name_key
from adaptner.terms.kinds import built_in_kinds, names_of_kind
from adaptner.text.label_names import label_words, normalise_name

# A name occurs if text has it so often alone or in longer names, and a node counts if so many names occur
# below it and text has its own name so often (in some 80 million words of abstracts).
_OFTEN, _FEWEST_NAMES, _OWN_NAME = 3, 40, 20
_FEWEST_OF_NODE = 10  # where several terminologies have the node
_MOST_WORDS = 4
_PLAIN = re.compile(r"[A-Za-z][a-z-]*(?: [A-Za-z][A-Za-z-]*)*|[A-Z]{2,6}s?")
_WHOLE_SHARE = (
    0.8  # of its names that occur a kind shares with a kind of `kinds.toml` whose rules it gets
)


@dataclass(frozen=True)
class NodeKind:
    name: str
    labels: tuple[str, ...]  # other names
    roots: tuple[str, ...]
    sources: tuple[str, ...]
    like: str  # the kind of `kinds.toml` to which most of its names belong, or ""


class Hierarchy:
    """The nodes above each concept, and the names of nodes. MeSH's are those above its tree numbers."""

    def __init__(self) -> None:
        self._parents: dict[str, set[str]] = defaultdict(set)
        self._at: dict[str, str] = {}  # the concept of a tree number
        self._numbers: dict[str, tuple[str, ...]] = {}
        self.names: dict[str, tuple[str, ...]] = {}  # preferred name first, then exact synonyms
        self.source: dict[str, str] = {}

    def add(self, concept: Concept, source: str) -> None:
        if source == "mesh":
            self._numbers[concept.id] = tuple(concept.note.split("|")) if concept.note else ()
            self._at.update(dict.fromkeys(self._numbers[concept.id], concept.id))
        elif concept.parents:
            self._parents[concept.id].update(concept.parents)
        if concept.id not in self.names and source != "mesh-supplementary":
            scopes = concept.scopes or "E" * len(concept.synonyms)
            exact = [n for n, scope in zip(concept.synonyms, scopes, strict=True) if scope == "E"]
            self.names[concept.id] = (concept.name, *exact)
            self.source[concept.id] = source

    def above(self) -> dict[str, frozenset[str]]:
        """For each concept the nodes above it and itself."""
        for concept, numbers in self._numbers.items():
            for number in numbers:
                higher = number.rpartition(".")[0]
                if parent := self._at.get(higher):
                    self._parents[concept].add(parent)
        found: dict[str, frozenset[str]] = {}
        for concept in {*self._parents, *self.names}:
            seen, stack = {concept}, [concept]
            while stack:
                current = stack.pop()
                if current in found:
                    seen |= found[current]
                    continue
                new = self._parents.get(current, set()) - seen
                seen |= new
                stack += new
            found[concept] = frozenset(seen)
        return found


def add_node_kinds(
    terms: CompiledTerms, sources: Iterable[tuple[str, Iterable[Concept]]]
) -> CompiledTerms:
    """``terms``, whose names are counted in text, with further kinds; ``sources`` are those it was compiled from."""
    hierarchy = Hierarchy()
    for source, concepts in sources:
        for concept in concepts:
            hierarchy.add(concept, source)
    above = hierarchy.above()
    ids = [terms.id_of(number) for number in range(terms.facts["concepts"])]
    kinds = choose_kinds(terms, hierarchy, above, ids)
    return with_kinds(terms, kinds, above, ids)


def choose_kinds(
    terms: CompiledTerms,
    hierarchy: Hierarchy,
    above: Mapping[str, frozenset[str]],
    ids: list[str],
) -> list[NodeKind]:
    """Nodes with the same name, in whatever terminology, are one kind; the kind with most names is the first."""
    written_down = {
        normalise_name(label_words(name))
        for kind in built_in_kinds()
        if not kind.is_attribute
        for name in (kind.name, *names_of_kind(kind))
    }
    occurring: dict[str, set[int]] = defaultdict(set)
    for entry in _occurring(terms).tolist():
        for node in {n for c in terms.concepts_of(entry) for n in above.get(ids[c], ())}:
            occurring[node].add(entry)
    by_name: dict[str, list[str]] = defaultdict(list)
    for node, entries in occurring.items():
        names = hierarchy.names.get(node, ())
        if len(entries) >= _FEWEST_OF_NODE and names and _PLAIN.fullmatch(names[0]):
            words = label_words(names[0])
            if words and len(words) <= _MOST_WORDS and _is_called_so(terms, names[0]):
                by_name[normalise_name(words)].append(node)
    kinds = []
    for name, nodes in by_name.items():
        if name in written_down:
            continue
        entries = set[int]().union(*(occurring[node] for node in nodes))
        if len(entries) < _FEWEST_NAMES:
            continue
        labels = dict.fromkeys(
            n for node in nodes for n in hierarchy.names[node] if _PLAIN.fullmatch(n)
        )
        kind = NodeKind(
            name,
            tuple(n for n in labels if len(label_words(n)) <= _MOST_WORDS),
            tuple(nodes),
            tuple(dict.fromkeys(hierarchy.source[node] for node in nodes)),
            _most_like(terms, entries),
        )
        kinds.append((len(entries), kind))
    return [kind for _, kind in sorted(kinds, key=lambda pair: (-pair[0], pair[1].name))]


def _occurring(terms: CompiledTerms) -> np.ndarray:
    """The entries of names that text has often enough."""
    entries = np.asarray(terms.arrays.get("seen", np.zeros(0, dtype=np.uint32)), dtype=np.int64)
    times = terms.counts("field_alone")[entries] + terms.counts("field_inside")[entries]
    often: np.ndarray = entries[(times >= _OFTEN) & ~terms.marked(entries, RELATED)]
    return often


def _is_called_so(terms: CompiledTerms, name: str) -> bool:
    """Whether text has the name often, and not as a word of general language: "cytokine", not "process"."""
    key = name_key(name)
    if key is None:
        return False
    mixed = mixed_word_keys(np.array([key.word], dtype=np.uint64))
    entry = terms.find(mixed)
    if entry[0] < 0 or terms.is_ordinary(mixed)[0]:
        return False
    times = terms.counts("field_alone")[entry] + terms.counts("field_inside")[entry]
    return bool(times[0] >= _OWN_NAME)


def _most_like(terms: CompiledTerms, entries: set[int]) -> str:
    """The narrowest kind of `kinds.toml` to which most of the names belong."""
    sets = terms.kinds_of(np.array(sorted(entries)))
    sizes = terms.facts["names"]
    fitting = [
        kind
        for kind in terms.facts["kinds"]
        if ((sets & terms.mask_of([kind])) != 0).any(1).mean() >= _WHOLE_SHARE
    ]
    return min(fitting, key=lambda kind: sizes.get(kind, 0), default="")


def with_kinds(
    terms: CompiledTerms,
    kinds: list[NodeKind],
    above: Mapping[str, frozenset[str]],
    ids: list[str],
) -> CompiledTerms:
    """``terms`` with a bit more for each of ``kinds``."""
    first = len(terms.facts["kinds"]) + len(terms.facts["attributes"])
    bit = {root: 1 << (first + i) for i, kind in enumerate(kinds) for root in kind.roots}
    words = -(-(first + len(kinds)) // 64)
    kept = terms.arrays["kind_sets"].shape[1]
    # Concepts have few distinct sets of kinds, and so have names.
    numbers: dict[int, int] = {0: 0}
    of_concept = np.zeros(len(ids), dtype=np.int64)
    for number, concept in enumerate(ids):
        nodes = above.get(concept)
        if nodes is None:
            continue
        mask = 0
        for node in nodes:
            mask |= bit.get(node, 0)
        of_concept[number] = numbers.setdefault(mask, len(numbers))
    masks = np.array(
        [[mask >> (64 * word) & (2**64 - 1) for word in range(words)] for mask in numbers],
        dtype=np.uint64,
    )
    own = np.zeros((len(terms), words), dtype=np.uint64)
    own[:, :kept] = terms.kinds_of(np.arange(len(terms)))
    values = unpacked(terms.arrays["concepts"])
    flag = np.uint64(1 << (8 * terms.arrays["concepts"].shape[1] - 1))
    listed = (values & flag) > 0
    single = np.flatnonzero(~listed)
    own[single] |= masks[of_concept[values[single].astype(np.int64)]]
    lists = unpacked(terms.arrays["concept_lists"]).astype(np.int64)
    many = np.flatnonzero(listed)
    places = (values[many] ^ flag).astype(np.int64)
    sizes = lists[places]
    for i in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > i)
        own[many[rows]] |= masks[of_concept[lists[places[rows] + 1 + i]]]
    # Rows as bytes: much faster to sort than rows of numbers.
    packed_rows = np.ascontiguousarray(own).view(np.dtype((np.void, 8 * words))).ravel()
    _, where, kind_set = np.unique(packed_rows, return_index=True, return_inverse=True)
    arrays = dict(terms.arrays)
    arrays["kind_sets"] = own[where]
    arrays["kind_set"] = kind_set.ravel().astype(np.uint16 if len(where) <= 1 << 16 else np.uint32)
    sizes_of = np.bincount(kind_set.ravel(), minlength=len(where))
    names = dict(terms.facts["names"])
    for i, kind in enumerate(kinds, start=first):
        has = (own[where][:, i // 64] >> np.uint64(i % 64)) & np.uint64(1) > 0
        names[kind.name] = int(sizes_of[has].sum())
    facts = terms.facts | {"names": names, "node_kinds": [_as_json(kind) for kind in kinds]}
    return CompiledTerms(arrays, facts)


def _as_json(kind: NodeKind) -> dict[str, Any]:
    fields = asdict(kind)
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }
