"""Source domains: the corpora that a method learns from, without what a test set holds."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from adaptner.corpora.corpus import Domain
from adaptner.corpora.overlap import remove_overlap
from adaptner.types import LabelSet, Sentence


@dataclass(frozen=True)
class SourceDomain:
    """A source domain as learning sees it: train and dev sentences of its corpora."""

    name: str
    labels: LabelSet
    corpora: dict[str, list[Sentence]]
    sha256: dict[str, str]
    removed: int = 0  # sentences left out because a target's test set holds them

    @property
    def sentences(self) -> list[Sentence]:
        return [s for sentences in self.corpora.values() for s in sentences]

    def subsample(self, most: int, seed: int) -> SourceDomain:
        """At most so many sentences of each corpus, drawn by ``seed``."""
        rng = random.Random(seed)
        fewer = {name: rng.sample(s, min(most, len(s))) for name, s in self.corpora.items()}
        return replace(self, corpora=fewer)


def source_domains(
    domains: Sequence[Domain], held_out: Iterable[Sentence] = ()
) -> list[SourceDomain]:
    """Train and dev splits of each domain, less the sentences that stand in ``held_out``."""
    held_out = list(held_out)
    found = []
    for domain in domains:
        corpora, removed = {}, 0
        for corpus in domain.corpora:
            everything = [
                s for n in ("train", "dev") if n in corpus.splits for s in corpus.split(n)
            ]
            kept, dropped = remove_overlap(everything, held_out)
            corpora[corpus.name] = kept
            removed += dropped
        labels = LabelSet(tuple(x for corpus in domain.corpora for x in corpus.labels.labels))
        checksums = {corpus.name: corpus.sha256 for corpus in domain.corpora}
        found.append(SourceDomain(domain.name, labels, corpora, checksums, removed))
    return found
