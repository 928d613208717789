"""Sampling of tasks for meta-learning (HGDA 3.2)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adaptner.errors import TooFewSentences
from adaptner.types import Sentence

# all: any sentence (HGDA); entities: only sentences with an entity (HGDA-NEs); support_only: only
# sentences with an entity in the support set, any sentence in the query set.
Sampling = Literal["all", "entities", "support_only"]


@dataclass(frozen=True)
class Task:
    """K support and K other query sentences of a corpus; ``domain`` is the index of its domain."""

    domain: int
    corpus: str
    support: tuple[Sentence, ...]
    query: tuple[Sentence, ...]


class TaskSource:
    """Draws a domain uniformly, one of its corpora uniformly, and 2K distinct sentences of it.

    ``domains`` has a mapping from names to sentences of corpora for each domain. Repeated sentences
    of a corpus count once, so that support and query share none. Raises TooFewSentences.
    """

    def __init__(
        self,
        domains: Sequence[Mapping[str, Sequence[Sentence]]],
        k: int,
        sampling: Sampling = "all",
    ) -> None:
        self.k = k
        self.sampling = sampling
        self._pools: list[list[tuple[str, list[Sentence], list[int]]]] = []
        for corpora in domains:
            self._pools.append([self._pool(name, s) for name, s in corpora.items()])

    def _pool(
        self, name: str, sentences: Sequence[Sentence]
    ) -> tuple[str, list[Sentence], list[int]]:
        """Returns the name, the sentences, and the indices of those with an entity."""
        distinct = list({s.tokens: s for s in sentences if len(s)}.values())
        if self.sampling == "entities":
            distinct = [s for s in distinct if s.entities]
        with_entities = [i for i, s in enumerate(distinct) if s.entities]
        too_few_supports = self.sampling == "support_only" and len(with_entities) < self.k
        if too_few_supports or len(distinct) < 2 * self.k:
            restricted = too_few_supports or self.sampling == "entities"
            raise TooFewSentences(
                found=len(with_entities) if too_few_supports else len(distinct),
                what=f"corpus {name}" + (" with an entity" if restricted else ""),
                needed=self.k if too_few_supports else 2 * self.k,
                option="--k",
            )
        return name, distinct, with_entities

    def sample(self, rng: random.Random) -> Task:
        domain = rng.randrange(len(self._pools))
        name, sentences, with_entities = self._corpus(domain, rng)
        if self.sampling == "support_only":
            support = rng.sample(with_entities, self.k)
            in_support = set(support)
            others = [i for i in range(len(sentences)) if i not in in_support]
            query = rng.sample(others, self.k)
        else:
            drawn = rng.sample(range(len(sentences)), 2 * self.k)
            support, query = drawn[: self.k], drawn[self.k :]
        return Task(
            domain,
            name,
            tuple(sentences[i] for i in support),
            tuple(sentences[i] for i in query),
        )

    def sample_sentences(self, domain: int, rng: random.Random) -> tuple[Sentence, ...]:
        """Draws K sentences of a corpus of ``domain`` (MetaNER, whose tasks have no query set)."""
        _, sentences, _ = self._corpus(domain, rng)
        return tuple(rng.sample(sentences, self.k))

    def _corpus(self, domain: int, rng: random.Random) -> tuple[str, list[Sentence], list[int]]:
        return self._pools[domain][rng.randrange(len(self._pools[domain]))]
