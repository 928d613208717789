"""What a method is asked for when it adapts a base."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from adaptner.corpora.sources import SourceDomain
from adaptner.errors import TooFewSentences
from adaptner.progress import ProgressCallback, no_progress
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence


@dataclass(frozen=True)
class AdaptRequest:
    """The target's data and the limits of one adaptation.

    ``labels`` adds to the labels of ``support``. ``unlabelled`` must allow several iterations.
    Without a ``budget`` the method's configuration decides how many steps are taken."""

    support: Sequence[Sentence]
    labels: LabelSet | None = None
    sources: Sequence[SourceDomain] = ()
    unlabelled: Iterable[Sentence] = ()
    budget: Budget | None = None
    seed: int = 0
    progress: ProgressCallback = no_progress
    encoded: Any = None  # what ``Method.encode_once`` returned

    def target_text(self) -> list[Sentence]:
        """The unlabelled sentences or, if there are none, the labelled ones without their labels.

        Raises TooFewSentences if both are empty."""
        for sentences in (self.unlabelled, self.support):
            if text := [s.without_entities() for s in sentences if len(s)]:
                return text
        raise TooFewSentences(
            found=0, what="the target's raw text", needed=1, option="--unlabelled TEXT"
        )
