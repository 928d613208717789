"""Source domains: the training data of a method, without sentences of the test set."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from adaptner.corpora.corpus import Domain
from adaptner.corpora.overlap import remove_overlap
from adaptner.types import LabelSet, Sentence


@dataclass(frozen=True)
class SourceDomain:
    """The training and development sentences of the corpora of a domain."""

    name: str
    labels: LabelSet
    corpora: dict[str, list[Sentence]]
    sha256: dict[str, str]
    removed: int = 0  # sentences left out because the target's test set contains them

    @property
    def sentences(self) -> list[Sentence]:
        return [s for sentences in self.corpora.values() for s in sentences]

    def subsample(self, max_sentences: int, seed: int) -> SourceDomain:
        """Returns the domain with at most ``max_sentences`` random sentences of each corpus."""
        rng = random.Random(seed)
        corpora = {
            name: rng.sample(s, min(max_sentences, len(s))) for name, s in self.corpora.items()
        }
        return replace(self, corpora=corpora)


def source_domains(
    domains: Sequence[Domain], held_out: Iterable[Sentence] = ()
) -> list[SourceDomain]:
    """Returns the train and dev sentences of each domain, without those in ``held_out``."""
    held_out = list(held_out)
    found = []
    for domain in domains:
        corpora, removed = {}, 0
        for corpus in domain.corpora:
            splits = [corpus.split(n) for n in ("train", "dev") if n in corpus.splits]
            kept, count = remove_overlap(chain.from_iterable(splits), held_out)
            corpora[corpus.name] = kept
            removed += count
        checksums = {corpus.name: corpus.sha256 for corpus in domain.corpora}
        found.append(SourceDomain(domain.name, domain.labels, corpora, checksums, removed))
    return found
