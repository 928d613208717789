"""What a decoder reads of terminologies: for each token and label, whether a match begins or goes on there,
and what is doubtful about it.

The first two columns of a label are the dictionary itself: the first token of a mention that it finds,
and the tokens inside. The others let labelled sentences change its conventions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adaptner.terms.dictionary import Dictionary, overlapping, without_overlaps
from adaptner.terms.doubts import Doubt
from adaptner.terms.matches import Spans
from adaptner.types import OUTSIDE, Sentence

# The columns of the dictionary's own mentions: where one begins and goes on, where one of several tokens
# ends, and where one is a single token.
BEGINS, INSIDE, ENDS, ALONE = 0, 1, 2, 3
# Then: any proposed span begins, goes on; a mention ended just before, begins just after.
_PROPOSED, _NEIGHBOURS, _OF_DOUBTS = 4, 6, 8
_DOUBTS = tuple(doubt.name or "" for doubt in Doubt)


@dataclass(frozen=True, eq=False)
class LabelledSpans:
    """The mentions of all labels, which do not overlap, and what was proposed for each label."""

    mentions: Spans
    labels: np.ndarray  # for each mention, the number of its label
    proposed: list[Spans]


class TermFeatures:
    """``kinds`` are those of each label, none if only the user's own names are; of two labels that know the
    same span, the first gets it. ``doubts`` are the names of those that have columns."""

    def __init__(
        self,
        dictionary: Dictionary,
        kinds: Mapping[str, Sequence[str]],
        doubts: Sequence[str] = _DOUBTS,
    ) -> None:
        self.dictionary = dictionary
        self.kinds = {label: tuple(names) for label, names in kinds.items()}
        self.doubts = tuple(Doubt[name] for name in doubts)
        terms = dictionary.terms
        self._known = [*terms.facts["kinds"], *terms.facts["attributes"]]
        self.width_of_label = _OF_DOUBTS + 2 * len(self.doubts) + 2 * len(self._known)

    @property
    def width(self) -> int:
        return self.width_of_label * len(self.kinds)

    def columns(self, label: str) -> slice:
        first = list(self.kinds).index(label) * self.width_of_label
        return slice(first, first + self.width_of_label)

    def spans(
        self, sentences: Sequence[Sequence[str]], documents: Sequence[int] | None = None
    ) -> tuple[LabelledSpans, np.ndarray]:
        """The spans in all sentences, and the position of each sentence's first token among theirs."""
        matches = self.dictionary.matches(sentences)
        every_kind = {kind for kinds in self.kinds.values() for kind in kinds}
        of_kind = self.dictionary.propose(matches, sorted(every_kind), documents)
        own = [self.dictionary.own_mentions(matches, label) for label in self.kinds]
        proposed, accepted = [], []
        for kinds, of_user in zip(self.kinds.values(), own, strict=True):
            every = [of_kind[kind] for kind in kinds]
            proposed.append(sum(every, of_user))
            accepted.append(
                sum(map(self.dictionary.acceptable, every, kinds), start=Spans.of([], []))
            )
        mentions, labels = _longest(own)
        of_base, labels_of_base = _longest(
            [
                spans.select(~overlapping(spans, mentions, len(matches.text.words)))
                for spans in accepted
            ]
        )
        together = mentions + of_base
        order = np.argsort(together.start)
        labels = np.concatenate([labels, labels_of_base])
        return LabelledSpans(together.select(order), labels[order], proposed), matches.text.starts

    def tag(
        self, sentences: Sequence[Sentence], documents: Sequence[int] | None = None
    ) -> list[Sentence]:
        """The sentences with the dictionary's mentions in place of their entities."""
        spans, starts = self.spans([s.tokens for s in sentences], documents)
        tags = [[OUTSIDE] * len(s) for s in sentences]
        names = list(self.kinds)
        owner = np.searchsorted(starts, spans.mentions.start, side="right") - 1
        for place, first, end, label in zip(
            owner.tolist(),
            (spans.mentions.start - starts[owner]).tolist(),
            (spans.mentions.end - starts[owner]).tolist(),
            spans.labels.tolist(),
            strict=True,
        ):
            inner = [f"I-{names[label]}"] * (end - first - 1)
            tags[place][first:end] = [f"B-{names[label]}", *inner]
        return [s.with_tags(t) for s, t in zip(sentences, tags, strict=True)]

    def of(
        self, sentences: Sequence[Sequence[str]], documents: Sequence[int] | None = None
    ) -> list[np.ndarray]:
        """For each sentence (tokens, width), 0 or 1. ``documents`` has the number of each sentence's
        document; without it each sentence stands alone."""
        if not sentences:
            return []
        lengths = [len(s) for s in sentences]
        table = self.of_spans(*self.spans(sentences, documents), lengths)
        return np.split(table, np.cumsum(lengths)[:-1])

    def of_spans(
        self, spans: LabelledSpans, starts: np.ndarray, lengths: Sequence[int]
    ) -> np.ndarray:
        """`of` for all tokens of one sentence or more, in a table."""
        size = int(starts[-1]) + lengths[-1] + 1  # with the barriers around sentences
        table = np.zeros((size, self.width), dtype=np.float32)
        for number in range(len(self.kinds)):
            first = number * self.width_of_label
            mine = spans.mentions.select(spans.labels == number)
            _fill(table, mine, first + BEGINS)
            table[mine.end - 1, first + ENDS] = mine.end - mine.start > 1
            table[mine.start, first + ALONE] = mine.end - mine.start == 1
            table[mine.end, first + _NEIGHBOURS] = 1
            table[mine.start - 1, first + _NEIGHBOURS + 1] = 1
            proposed = spans.proposed[number]
            _fill(table, proposed, first + _PROPOSED)
            for place, doubt in enumerate(self.doubts):
                having = (proposed.doubts & np.uint32(doubt)) > 0
                if having.any():
                    _fill(table, proposed.select(having), first + _OF_DOUBTS + 2 * place)
            listed = proposed.select(proposed.entry >= 0)
            sets = self.dictionary.terms.kinds_of(listed.entry)
            for place in range(len(self._known)):
                having = (sets[:, place // 64] >> np.uint64(place % 64)) & np.uint64(1) > 0
                if having.any():
                    column = first + _OF_DOUBTS + 2 * (len(self.doubts) + place)
                    _fill(table, listed.select(having), column)
        is_token = np.ones(size, dtype=bool)
        is_token[[0, *(starts + lengths).tolist()]] = False
        tokens: np.ndarray = table[is_token]
        return tokens


def _longest(of_labels: Sequence[Spans]) -> tuple[Spans, np.ndarray]:
    """The spans of all labels that remain where they overlap, and the number of the label of each."""
    together = sum(of_labels, start=Spans.of([], []))
    labels = np.repeat(np.arange(len(of_labels)), [len(spans) for spans in of_labels])
    rows = without_overlaps(together)
    return together.select(rows), labels[rows]


def _fill(table: np.ndarray, spans: Spans, column: int) -> None:
    """Set ``column`` at the first tokens of the spans, and the next column at the others."""
    table[spans.start, column] = 1
    lengths = spans.end - spans.start - 1
    if lengths.any():
        ends = np.cumsum(lengths)
        inner = np.repeat(spans.start + 1 - (ends - lengths), lengths) + np.arange(ends[-1])
        table[inner, column + 1] = 1
