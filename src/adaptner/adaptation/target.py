"""The target's labelled sentences and its labels."""

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
        cls, base: Base, support: Sequence[Sentence], labels: LabelSet | None = None
    ) -> TargetData:
        """The sentences that are not empty, and ``labels`` with the labels that occur in them.

        A few-shot draw may contain only some of the target's labels, hence ``labels``. Raises
        TooFewSentences or NoEntities if there is nothing to learn from."""
        sentences = [s for s in support if len(s)]
        if not sentences:
            raise TooFewSentences(found=0, what="the labelled data", needed=1, option="more data")
        found = LabelSet.of(sentences).labels
        every = base.labels.with_labels((*(labels.labels if labels else ()), *found))
        if not every:
            raise NoEntities(sentences=len(sentences))
        return cls(sentences, every)

    @classmethod
    def unseen(
        cls, base: Base, domains: Iterable[str], labels: LabelSet | None = None
    ) -> TargetData:
        """For zero-shot learning: no labelled sentence, and the labels of these domains of the base.

        Raises UnknownLabels if ``labels``, those that the user wants, has others."""
        numbers = [base.model.domains.index(name) for name in domains]
        known = base.labels.with_labels(
            x for number in numbers for x in base.model.labels_of(number).labels
        )
        if labels is not None and not known.includes(labels):
            raise UnknownLabels(
                target=", ".join(labels.labels), known=", ".join(known.labels) or "none"
            )
        return cls([], known)
