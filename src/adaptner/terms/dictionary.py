"""Tags text by terminologies alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.doubts import Doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import NameFinder

# Kinds with rules of their own, and the doubts that their matches may have and still count.
RULES = {"Disease": "disease", "Chemical": "chemical", "Gene": "gene", "Species": "species"}
GENERAL_ACCEPTED = Doubt.RELATED | Doubt.SHORT


def rule_of(kind: str) -> tuple[Callable[[Matches], Spans], Doubt]:
    """What proposes spans of a kind, and the doubts that count nothing by default."""
    if kind in RULES:
        module = import_module(f"adaptner.terms.rules.{RULES[kind]}")
        return module.propose, module.ACCEPTED
    from adaptner.terms.rules import general

    return lambda m: general.propose(m, kind), GENERAL_ACCEPTED


class Dictionary:
    def __init__(self, terms: CompiledTerms) -> None:
        self.terms = terms
        self._finder = NameFinder(terms)

    def matches(self, sentences: Sequence[Sequence[str]]) -> Matches:
        return Matches(self._finder, self._finder.text(sentences))

    def propose(self, matches: Matches, kind: str) -> Spans:
        return rule_of(kind)[0](matches)

    def mentions(
        self, matches: Matches, kind: str, accepted: Doubt | None = None
    ) -> Spans:
        """The spans without a doubt that counts, longest first where they overlap."""
        found = self.acceptable(self.propose(matches, kind), kind, accepted)
        return found.select(without_overlaps(found))

    def acceptable(self, proposed: Spans, kind: str, accepted: Doubt | None = None) -> Spans:
        """The proposed spans without a doubt that counts; they may overlap."""
        accepted = rule_of(kind)[1] if accepted is None else accepted
        return proposed.select((proposed.doubts & ~np.uint32(accepted)) == 0)


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
