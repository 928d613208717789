"""Kinds of entities: nodes of the terminologies' hierarchies, and attributes of names for the rules."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from adaptner.errors import UnknownName
from adaptner.terms.concepts import Concept
from adaptner.text.label_names import label_words, normalise_name


@dataclass(frozen=True)
class Kind:
    name: str
    roots: tuple[str, ...]
    without: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    plural: str = ""
    name_is_label: bool = True
    is_attribute: bool = False
    only_preferred: bool = False  # counts for preferred names alone, not for synonyms
    below: bool = True  # the concepts below the roots as well
    names: str = (
        ""  # only names that are "lower" (as "mouse"), or "abbreviated" ("E. coli", made for it)
    )


@cache
def built_in_kinds() -> tuple[Kind, ...]:
    content = tomllib.loads(files("adaptner.terms").joinpath("kinds.toml").read_text("utf-8"))
    return tuple(
        Kind(
            k["name"],
            tuple(k["roots"]),
            tuple(k.get("without", ())),
            tuple(k.get("labels", ())),
            k.get("plural", ""),
            k.get("name_is_label", True),
            is_attribute=section == "attribute",
            only_preferred=k.get("only_preferred", False),
            below=k.get("below", True),
            names=k.get("names", ""),
        )
        for section in ("kind", "attribute")
        for k in content[section]
    )


def _roots(kind: Kind) -> tuple[str, ...]:
    """The roots of a kind, and one for the names that users' lists say are of the kind."""
    return kind.roots if kind.is_attribute else (*kind.roots, f"kind:{kind.name}")


@lru_cache(maxsize=1000)
def _normal(name: str) -> str:
    words = label_words(name)
    return normalise_name(words) if words else ""


def names_of_kind(kind: Kind) -> tuple[str, ...]:
    """What people call the kind."""
    return (kind.name, *kind.labels) if kind.name_is_label else kind.labels


class KindFinder:
    """The kinds of a concept, as bits: those of which it is a root or, if these count, below one.

    All concepts must be known before the first question. Files and notes of lists may name their kind:
    "disease.txt", "kind=Disease"."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.kinds = tuple(kinds)
        roots = sorted({root for kind in kinds for root in (*_roots(kind), *kind.without)})
        self._bit = {root: 1 << i for i, root in enumerate(roots)}
        self._trees = [
            (root.partition("#")[2], bit) for root, bit in self._bit.items() if root[:5] == "MESH#"
        ]
        self._wanted = [self._bits(_roots(kind)) for kind in kinds]
        self._unwanted = [self._bits(kind.without) for kind in kinds]
        self._called: dict[str, int] = {}  # the roots for what lists call kinds
        for kind in kinds:
            for name in () if kind.is_attribute else (kind.name, *kind.labels):
                known = self._called.get(_normal(name), 0)
                self._called[_normal(name)] = known | self._bit[f"kind:{kind.name}"]
        self._own: dict[str, int] = {}
        self._parents: dict[str, tuple[str, ...]] = {}
        self._above: dict[str, int] = {}
        self._kinds_of: dict[tuple[int, int], int] = {}

    def _bits(self, roots: Iterable[str]) -> int:
        return sum(self._bit[root] for root in roots)

    def add(self, concept: Concept, source: str) -> None:
        bits = self._bit.get(concept.id, 0) | self._bit.get(f"file:{source}", 0)
        bits |= self._called.get(_normal(source), 0)
        for item in concept.note.split(";"):
            if item.startswith("kind="):
                bits |= self._kind_called(item.removeprefix("kind="))
            bits |= self._bit.get(f"note:{source}={item}", 0)
            # MeSH gives nothing but tree numbers, lists of drugs say "tree=D02.455|D03.438".
            if source == "mesh" or item.startswith("tree="):
                for number in item.removeprefix("tree=").split("|"):
                    for prefix, bit in self._trees:
                        if number.startswith(prefix):
                            bits |= bit
        self._own[concept.id] = self._own.get(concept.id, 0) | bits
        if source == "mesh":
            # All places in the tree are in the numbers; a place of a parent need not be one of the concept.
            self._above[concept.id] = self._own[concept.id]
        self._parents[concept.id] = self._parents.get(concept.id, ()) + concept.parents

    def _kind_called(self, name: str) -> int:
        if (bits := self._called.get(_normal(name))) is None:
            known = (kind.name for kind in self.kinds if not kind.is_attribute)
            raise UnknownName.among(known, kind="kind", name=name)
        return bits

    def _reached(self, concept: str) -> int:
        """The roots at or above a concept. A cycle in the hierarchy ends where it closes."""
        if (known := self._above.get(concept)) is not None:
            return known
        found, seen, stack = 0, {concept}, [concept]
        while stack:
            current = stack.pop()
            if (known := self._above.get(current)) is not None:
                found |= known
                continue
            found |= self._own.get(current, self._bit.get(current, 0))
            for parent in self._parents.get(current, ()):
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        self._above[concept] = found
        return found

    def kinds_of(self, concept: str) -> int:
        """A bit for each kind, in the order of ``kinds``."""
        reached, own = self._reached(concept), self._own.get(concept, 0)
        if (known := self._kinds_of.get((reached, own))) is None:
            known = 0
            for i, (kind, wanted, unwanted) in enumerate(
                zip(self.kinds, self._wanted, self._unwanted, strict=True)
            ):
                if (reached if kind.below else own) & wanted and not reached & unwanted:
                    known |= 1 << i
            self._kinds_of[reached, own] = known
        return known

    def breadth(self) -> Counter[str]:
        """How many concepts are below each concept."""
        counts: Counter[str] = Counter()
        for concept in self._parents:
            seen = {concept}
            stack = list(self._parents[concept])
            while stack:
                current = stack.pop()
                if current not in seen:
                    seen.add(current)
                    stack += self._parents.get(current, ())
            seen.remove(concept)
            counts.update(seen)
        return counts
