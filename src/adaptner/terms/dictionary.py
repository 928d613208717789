"""Tags text by terminologies alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module

import numpy as np

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.definitions import apply_definitions
from adaptner.terms.doubts import Doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import NameFinder, Text

# Kinds with rules of their own; kinds that share rules.
RULES = {
    "Disease": "disease",
    "Cancer": "cancer",
    "Chemical": "chemical",
    "Gene": "gene",
    "Species": "species",
    "Bacterium": "bacterium",
    "Virus": "virus",
    "Plant": "plant",
    "Cell": "cell",
    "CellLine": "cell_line",
}
SHARED_RULES = {
    **dict.fromkeys(
        ("Anatomy", "Organ", "MultiTissueStructure", "Tissue", "BodyRegion", "BodySystem"),
        "anatomy",
    ),
    **dict.fromkeys(("Variant", "DNAVariant", "ProteinVariant", "SNP"), "variant"),
    **dict.fromkeys(("DNA", "RNA", "Complex"), "of_genes"),
}


def rule_of(kind: str) -> tuple[Callable[[Matches], Spans], Doubt]:
    """What proposes spans of a kind, and the doubts that count nothing by default."""
    if kind in RULES:
        module = import_module(f"adaptner.terms.rules.{RULES[kind]}")
        return module.propose, module.ACCEPTED
    module = import_module(f"adaptner.terms.rules.{SHARED_RULES.get(kind, 'general')}")
    return lambda m: module.propose(m, kind), module.ACCEPTED


class Dictionary:
    """``own``: users' names of labels, whose matches nothing doubts. ``exclude``: names that ``terms`` are
    not to propose."""

    def __init__(
        self,
        terms: CompiledTerms,
        own: Mapping[str, CompiledTerms] | None = None,
        exclude: CompiledTerms | None = None,
    ) -> None:
        self.terms = terms
        self.own = dict(own or {})
        self.exclude = exclude
        self._finder = NameFinder(terms)

    def rule_of(self, kind: str) -> tuple[Callable[[Matches], Spans], Doubt]:
        """As `rule_of`; a node of a hierarchy has the rules of the kind that most of its names belong to."""
        if not (like := self._like.get(kind)):
            return rule_of(kind)
        propose, accepted = rule_of(like)
        of_kind, sets = self.terms.sets_with((kind,)), self.terms.arrays["kind_set"]

        def propose_some(m: Matches) -> Spans:
            spans = propose(m)
            return spans.select((spans.entry >= 0) & of_kind[sets[spans.entry]])

        return propose_some, accepted

    @cached_property
    def _like(self) -> dict[str, str]:
        return {node["name"]: node["like"] for node in self.terms.facts.get("node_kinds", ())}

    def matches(self, sentences: Sequence[Sequence[str]]) -> Matches:
        return Matches(self._finder, self._finder.text(sentences))

    def propose(
        self, matches: Matches, kinds: Iterable[str], documents: Sequence[int] | None = None
    ) -> dict[str, Spans]:
        """All possible mentions of each kind, with doubts. ``documents`` has the number of each sentence's
        document, so that abbreviations keep what an earlier sentence has defined them as."""
        rules = {kind: self.rule_of(kind) for kind in kinds}
        proposed = {kind: propose(matches) for kind, (propose, _) in rules.items()}
        accepted = {kind: by_default for kind, (_, by_default) in rules.items()}
        proposed = apply_definitions(matches.text, proposed, accepted, documents)
        return proposed if self.exclude is None else self._without_excluded(matches.text, proposed)

    def _without_excluded(self, text: Text, proposed: dict[str, Spans]) -> dict[str, Spans]:
        assert self.exclude is not None
        found = NameFinder(self.exclude).find(text)
        size = len(text.words) + 1
        codes = found.start * size + found.end
        return {
            kind: spans.select(~np.isin(spans.start * size + spans.end, codes))
            for kind, spans in proposed.items()
        }

    def own_mentions(self, matches: Matches, label: str) -> Spans:
        """The user's own names of a label: all of them, longest first where they overlap."""
        if label not in self.own:
            return Spans.of([], [])
        found = NameFinder(self.own[label]).find(matches.text)
        spans = Spans.of(found.start, found.end)  # entries are those of ``terms``
        return spans.select(without_overlaps(spans))

    def mentions(
        self,
        matches: Matches,
        kind: str,
        accepted: Doubt | None = None,
        documents: Sequence[int] | None = None,
    ) -> Spans:
        """The spans without a doubt that counts, longest first where they overlap."""
        proposed = self.propose(matches, [kind], documents)[kind]
        found = self.acceptable(proposed, kind, accepted)
        return found.select(without_overlaps(found))

    def acceptable(self, proposed: Spans, kind: str, accepted: Doubt | None = None) -> Spans:
        """The proposed spans without a doubt that counts; they may overlap."""
        accepted = Doubt.DEFINED | (self.rule_of(kind)[1] if accepted is None else accepted)
        return proposed.select((proposed.doubts & ~np.uint32(accepted)) == 0)


def overlapping(spans: Spans, others: Spans, positions: int) -> np.ndarray:
    """Whether each span shares a position with any of the others."""
    change = np.zeros(positions + 1, dtype=np.int64)
    np.add.at(change, others.start, 1)
    np.add.at(change, others.end, -1)
    covered = np.concatenate([[0], np.cumsum(np.cumsum(change) > 0)])
    found: np.ndarray = covered[spans.end] > covered[spans.start]
    return found


def without_overlaps(spans: Spans) -> np.ndarray:
    """The rows that remain, in order: longer spans win over shorter ones, and earlier over later."""
    order = np.lexsort((spans.start, spans.start - spans.end))
    taken: set[int] = set()
    kept = []
    starts, ends = spans.start.tolist(), spans.end.tolist()
    for row in order.tolist():
        places = range(starts[row], ends[row])
        if taken.isdisjoint(places):
            taken.update(places)
            kept.append(row)
    kept.sort(key=starts.__getitem__)
    return np.array(kept, dtype=np.int64)
