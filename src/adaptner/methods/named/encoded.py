"""Sentences as a decoder reads them: computed once, since the encoder does not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.models.base import Base
from adaptner.terms.features import TermFeatures
from adaptner.types import LabelSet, Sentence


@dataclass(frozen=True)
class EncodedSentences:
    states: Tensor  # (1, sentences, tokens, width): the encoder's, then the terms' features
    tags: Tensor  # (1, sentences, tokens)
    mask: Tensor  # (1, sentences, tokens)
    order: tuple[int, ...]  # for each row, the place of its sentence in the list that was encoded
    weights: Tensor  # (decoders, sentences): how much each sentence counts in each decoder's loss

    @classmethod
    def of(
        cls,
        base: Base,
        sentences: Sequence[Sentence],
        labels: LabelSet,
        empty_sentence_weight: float = 1.0,
        features: TermFeatures | None = None,
    ) -> EncodedSentences:
        """A sentence without an entity gets ``empty_sentence_weight``: a few sentences with a rare
        entity type are nearly all O, which would outweigh the prior from the label's name."""
        batch = base.batcher([sentences], [labels]).to(base.model.encoder.device)
        assert batch.tags is not None
        with torch.no_grad():
            states = base.model.encoder(batch)
        if features is not None:
            of_terms = batch.arrange(features.of([s.tokens for s in sentences]))
            states = torch.cat([states, of_terms], -1)
        weights = torch.where((batch.tags > 0).any(-1), 1.0, empty_sentence_weight)
        return cls(states, batch.tags, batch.mask, batch.order[0], weights)

    def select(self, places: Sequence[int]) -> EncodedSentences:
        """The sentences at ``places`` of the encoded list, without superfluous padding."""
        wanted = set(places)
        rows = [row for row, place in enumerate(self.order) if place in wanted]
        mask = self.mask[:, rows]
        length = int(mask.sum(-1).max())
        return EncodedSentences(
            self.states[:, rows, :length],
            self.tags[:, rows, :length],
            mask[..., :length],
            tuple(self.order[row] for row in rows),
            self.weights[:, rows],
        )
