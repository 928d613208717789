"""The task sampler of HGDA 3.2."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adaptner.errors import TooFewSentences
from adaptner.types import Sentence

# all: every sentence may be drawn (HGDA). entities: support and query from sentences with an entity
# (HGDA-NEs). support_only: the support alone is so restricted.
Sampling = Literal["all", "entities", "support_only"]


@dataclass(frozen=True)
class Task:
    """K support and K query sentences of one corpus, disjoint; ``domain`` is the domain's number."""

    domain: int
    corpus: str
    support: tuple[Sentence, ...]
    query: tuple[Sentence, ...]


class TaskSource:
    """Draws a domain uniformly, a corpus of it uniformly, then 2K distinct sentences.

    ``domains``: for each domain, its corpora by name. Repeated sentences of a corpus count once, so
    that support and query never share one."""

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
            pools = []
            for name, sentences in corpora.items():
                own = list({s.tokens: s for s in sentences if len(s)}.values())
                bearing = [i for i, s in enumerate(own) if s.entities]
                if sampling == "entities":
                    own = [own[i] for i in bearing]
                    bearing = list(range(len(own)))
                few_bearing = sampling == "support_only" and len(bearing) < k
                if few_bearing or len(own) < 2 * k:
                    entities_wanted = few_bearing or sampling == "entities"
                    raise TooFewSentences(
                        found=len(bearing) if few_bearing else len(own),
                        what=f"corpus {name}" + (" with an entity" if entities_wanted else ""),
                        needed=k if few_bearing else 2 * k,
                        option="--k",
                    )
                pools.append((name, own, bearing))
            self._pools.append(pools)

    def sample(self, rng: random.Random) -> Task:
        domain = rng.randrange(len(self._pools))
        name, sentences, bearing = self._corpus(domain, rng)
        if self.sampling == "support_only":
            support = rng.sample(bearing, self.k)
            taken = set(support)
            rest = [i for i in range(len(sentences)) if i not in taken]
            query = rng.sample(rest, self.k)
        else:
            chosen = rng.sample(range(len(sentences)), 2 * self.k)
            support, query = chosen[: self.k], chosen[self.k :]
        return Task(
            domain,
            name,
            tuple(sentences[i] for i in support),
            tuple(sentences[i] for i in query),
        )

    def sample_sentences(self, domain: int, rng: random.Random) -> tuple[Sentence, ...]:
        """K sentences of one corpus of ``domain``: MetaNER's task, which has no query of its own."""
        _, sentences, _ = self._corpus(domain, rng)
        return tuple(rng.sample(sentences, self.k))

    def _corpus(self, domain: int, rng: random.Random) -> tuple[str, list[Sentence], list[int]]:
        return self._pools[domain][rng.randrange(len(self._pools[domain]))]
