"""What a method is given of the target: sentences that hold something, and the labels to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adaptner.errors import NoEntities, TooFewSentences
from adaptner.training.base import Base
from adaptner.types import LabelSet, Sentence


@dataclass(frozen=True)
class Target:
    sentences: list[Sentence]
    labels: LabelSet  # in the base's tag scheme

    @classmethod
    def of(cls, base: Base, given: Sequence[Sentence], labels: LabelSet | None = None) -> Target:
        """``labels`` adds to those of the sentences (a few-shot draw may show only some, or none)."""
        sentences = [s for s in given if len(s)]
        if not sentences:
            raise TooFewSentences(found=0, what="the labelled data", needed=1, option="more data")
        shown = LabelSet.of(sentences).labels
        wanted = base.labels.with_labels((*(labels.labels if labels else ()), *shown))
        if not wanted:
            raise NoEntities(sentences=len(sentences))
        return cls(sentences, wanted)
