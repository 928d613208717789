"""Tags text by terminologies alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

import numpy as np

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.definitions import apply_definitions
from adaptner.terms.doubts import Doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.matching import NameFinder

# Kinds with rules of their own; kinds that share rules.
RULES = {
    "Disease": "disease",
    "Cancer": "cancer",
    "Chemical": "chemical",
    "Gene": "gene",
    "Species": "species",
    "Cell": "cell",
    "CellLine": "cell_line",
}
SHARED_RULES = {
    **dict.fromkeys(
        ("Anatomy", "Organ", "MultiTissueStructure", "Tissue", "BodyRegion", "BodySystem"), "anatomy"
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
    def __init__(self, terms: CompiledTerms) -> None:
        self.terms = terms
        self._finder = NameFinder(terms)

    def matches(self, sentences: Sequence[Sequence[str]]) -> Matches:
        return Matches(self._finder, self._finder.text(sentences))

    def propose(
        self, matches: Matches, kinds: Iterable[str], documents: Sequence[int] | None = None
    ) -> dict[str, Spans]:
        """All possible mentions of each kind, with doubts. ``documents`` has the number of each sentence's
        document, so that abbreviations keep what an earlier sentence has defined them as."""
        rules = {kind: rule_of(kind) for kind in kinds}
        proposed = {kind: propose(matches) for kind, (propose, _) in rules.items()}
        accepted = {kind: by_default for kind, (_, by_default) in rules.items()}
        return apply_definitions(matches.text, proposed, accepted, documents)

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
        accepted = Doubt.DEFINED | (rule_of(kind)[1] if accepted is None else accepted)
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
