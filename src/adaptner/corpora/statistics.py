"""Statistics of a corpus: sentences, mentions, tokens, and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from adaptner.corpora.corpus import Corpus


@dataclass(frozen=True)
class Statistics:
    """Sentences, mentions, and tokens are per split, the other figures over all splits."""

    corpus: str
    domain: str
    sentences: Mapping[str, int]
    mentions: Mapping[str, int]
    tokens: Mapping[str, int]
    unique_tokens: int
    percent_with_entities: float
    mentions_per_type: Mapping[str, int]


def corpus_statistics(corpus: Corpus) -> Statistics:
    sentences: dict[str, int] = {}
    mentions: dict[str, int] = {}
    tokens: dict[str, int] = {}
    vocabulary: set[str] = set()
    types: Counter[str] = Counter()
    with_entities = 0
    for name in corpus.splits:
        split = corpus.split(name)
        sentences[name] = len(split)
        mentions[name] = sum(len(s.entities) for s in split)
        tokens[name] = sum(len(s) for s in split)
        with_entities += sum(1 for s in split if s.entities)
        for sentence in split:
            # sentence.tokens would be cached as long as the corpus is in memory.
            vocabulary.update(sentence.text[a:b] for a, b in sentence.token_spans)
            types.update(e.label for e in sentence.entities)
    total = sum(sentences.values())
    return Statistics(
        corpus=corpus.name,
        domain=corpus.domain,
        sentences=sentences,
        mentions=mentions,
        tokens=tokens,
        unique_tokens=len(vocabulary),
        percent_with_entities=100 * with_entities / total if total else 0.0,
        mentions_per_type=dict(types.most_common()),
    )
