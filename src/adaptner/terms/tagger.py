"""Finds entities by terminologies alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptner.terms.features import TermFeatures
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, Entity

MOST_IDS = 5  # of an entity


class TermTagger:
    def __init__(self, features: TermFeatures) -> None:
        self._features = features
        self._labels = list(features.kinds)

    def predict_documents(self, documents: Sequence[Document]) -> list[list[Entity]]:
        """The entities of each document, with the ids of their concepts."""
        found: list[list[Entity]] = [[] for _ in documents]
        placed = [(n, s) for n, document in enumerate(documents) for s in to_sentences(document)]
        if not placed:
            return found
        numbers = [number for number, _ in placed]
        spans, starts = self._features.spans([s.tokens for _, s in placed], numbers)
        mentions = spans.mentions
        owners = np.searchsorted(starts, mentions.start, side="right") - 1
        for owner, first, last, entry, label in zip(
            owners.tolist(),
            (mentions.start - starts[owners]).tolist(),
            (mentions.end - starts[owners] - 1).tolist(),
            mentions.entry.tolist(),
            spans.labels.tolist(),
            strict=True,
        ):
            number, sentence = placed[owner]
            start, end = sentence.token_spans[first][0], sentence.token_spans[last][1]
            terms = self._features.dictionary.terms
            ids = tuple(terms.ids_of(entry)[:MOST_IDS]) if entry >= 0 else ()
            entity = Entity(start, end, self._labels[label], ids=ids)
            found[number].append(entity.shifted(sentence.start))
        return found
