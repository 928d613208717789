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
    splits = corpus.sentences
    sentences = [sentence for split in splits.values() for sentence in split]
    with_entities = sum(1 for s in sentences if s.entities)
    # sentence.tokens would be cached as long as the corpus is in memory.
    vocabulary = {s.text[a:b] for s in sentences for a, b in s.token_spans}
    types = Counter(e.label for s in sentences for e in s.entities)
    return Statistics(
        corpus=corpus.name,
        domain=corpus.domain,
        sentences={name: len(split) for name, split in splits.items()},
        mentions={name: sum(len(s.entities) for s in split) for name, split in splits.items()},
        tokens={name: sum(len(s) for s in split) for name, split in splits.items()},
        unique_tokens=len(vocabulary),
        percent_with_entities=100 * with_entities / len(sentences) if sentences else 0.0,
        mentions_per_type=dict(types.most_common()),
    )
