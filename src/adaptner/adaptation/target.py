"""What a method is given of the target: sentences that hold something, and the labels to find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adaptner.errors import NoEntities, TooFewSentences, UnknownLabels
from adaptner.models.base import Base
from adaptner.types import LabelSet, Sentence


@dataclass(frozen=True)
class TargetData:
    sentences: list[Sentence]
    labels: LabelSet  # in the base's tag scheme

    @classmethod
    def of(
        cls, base: Base, given: Sequence[Sentence], labels: LabelSet | None = None
    ) -> TargetData:
        """``labels`` adds to those of the sentences (a few-shot draw may show only some, or none)."""
        sentences = [s for s in given if len(s)]
        if not sentences:
            raise TooFewSentences(found=0, what="the labelled data", needed=1, option="more data")
        shown = LabelSet.of(sentences).labels
        wanted = base.labels.with_labels((*(labels.labels if labels else ()), *shown))
        if not wanted:
            raise NoEntities(sentences=len(sentences))
        return cls(sentences, wanted)

    @classmethod
    def unseen(
        cls, base: Base, domains: Iterable[str], labels: LabelSet | None = None
    ) -> TargetData:
        """Zero-shot: no labelled sentence, and the labels of ``domains`` of the base. ``labels`` are
        those wanted, where they are known."""
        numbers = [base.model.domains.index(name) for name in domains]
        known = base.labels.with_labels(
            x for number in numbers for x in base.model.labels_of(number).labels
        )
        if labels is not None and not known.includes(labels):
            raise UnknownLabels(
                target=", ".join(labels.labels), known=", ".join(known.labels) or "none"
            )
        return cls([], known)
