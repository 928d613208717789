"""Finds entities by terminologies alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adaptner.terms.features import TermFeatures
from adaptner.terms.linking import MentionLinker
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, Entity


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
        words = [s.tokens for _, s in placed]
        linker = MentionLinker(self._features, words, numbers)
        mentions, starts = linker.spans.mentions, linker.starts
        owners = np.searchsorted(starts, mentions.start, side="right") - 1
        for owner, first, end, label in zip(
            owners.tolist(),
            (mentions.start - starts[owners]).tolist(),
            (mentions.end - starts[owners]).tolist(),
            linker.spans.labels.tolist(),
            strict=True,
        ):
            number, sentence = placed[owner]
            name = self._labels[label]
            entity = Entity(
                sentence.token_spans[first][0],
                sentence.token_spans[end - 1][1],
                name,
                ids=linker.ids(owner, first, end, name),
            )
            found[number].append(entity.shifted(sentence.start))
        return found
