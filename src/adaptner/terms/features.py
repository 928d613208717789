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


_EVERY_DOUBT = tuple(doubt.name or "" for doubt in Doubt)


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
        doubts: Sequence[str] = _EVERY_DOUBT,
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
        of_base, labels_of_base = _longest(accepted)
        free = ~overlapping(of_base, mentions, len(matches.text.words))
        together = mentions + of_base.select(free)
        labels = np.concatenate([labels, labels_of_base[free]])
        order = np.argsort(together.start)
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
        return self.present(*self.spans(sentences, documents), [len(s) for s in sentences]).dense()

    def present(
        self, spans: LabelledSpans, starts: np.ndarray, lengths: Sequence[int]
    ) -> PresentFeatures:
        """The features of sentences of these lengths, whose first tokens are at ``starts``."""
        size = int(starts[-1] + lengths[-1]) + 2 if len(lengths) else 0
        cells = _Cells()
        for number in range(len(self.kinds)):
            first = number * self.width_of_label
            mine = spans.mentions.select(spans.labels == number)
            cells.fill(mine, first + BEGINS)
            alone = mine.end - mine.start == 1
            cells.add(mine.end - 1, np.where(alone, first + ALONE, first + ENDS))
            cells.add(mine.end, first + _NEIGHBOURS)
            cells.add(mine.start - 1, first + _NEIGHBOURS + 1)
            proposed = spans.proposed[number]
            cells.fill(proposed, first + _PROPOSED)
            bits = np.array([int(d) for d in self.doubts], dtype=np.uint32)
            rows, places = np.nonzero(proposed.doubts[:, None] & bits)
            cells.fill(proposed.select(rows), first + _OF_DOUBTS + 2 * places)
            listed = proposed.select(proposed.entry >= 0)
            rows, places = np.nonzero(self._has_kinds(listed.entry))
            column = first + _OF_DOUBTS + 2 * (len(self.doubts) + places)
            cells.fill(listed.select(rows), column)
        token_at = np.full(size, -1, dtype=np.int64)  # -1: between sentences
        places_of = [np.arange(a, a + n) for a, n in zip(starts.tolist(), lengths, strict=True)]
        in_order = np.concatenate(places_of) if places_of else np.zeros(0, dtype=np.int64)
        token_at[in_order] = np.arange(len(in_order))
        return cells.of_tokens(token_at, tuple(lengths), self.width)

    def _has_kinds(self, entries: np.ndarray) -> np.ndarray:
        """(entries, kinds and attributes), 0 or 1."""
        sets = np.ascontiguousarray(self.dictionary.terms.kinds_of(entries), dtype="<u8")
        bits = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")
        return bits[:, : len(self._known)]


def _longest(of_labels: Sequence[Spans]) -> tuple[Spans, np.ndarray]:
    """The spans of all labels that remain where they overlap, and the number of the label of each."""
    together = sum(of_labels, start=Spans.of([], []))
    labels = np.repeat(np.arange(len(of_labels)), [len(spans) for spans in of_labels])
    rows = without_overlaps(together)
    return together.select(rows), labels[rows]


@dataclass(frozen=True, eq=False)
class PresentFeatures:
    """The features of sentences that are 1: most are 0. Tokens are numbered through all sentences, in
    ascending order."""

    tokens: np.ndarray
    columns: np.ndarray
    lengths: tuple[int, ...]
    width: int

    def dense(self) -> list[np.ndarray]:
        """For each sentence (tokens, width)."""
        table = np.zeros((sum(self.lengths), self.width), dtype=np.float32)
        table[self.tokens, self.columns] = 1
        return self._of_sentences(table)

    def times(self, weight: np.ndarray) -> list[np.ndarray]:
        """For each sentence (tokens, n), its features multiplied by ``weight`` (width, n). The memory it
        takes does not depend on the width."""
        table = np.zeros((sum(self.lengths), weight.shape[1]), dtype=weight.dtype)
        if len(self.tokens):
            first = np.flatnonzero(np.diff(self.tokens, prepend=-1))
            table[self.tokens[first]] = np.add.reduceat(weight[self.columns], first, axis=0)
        return self._of_sentences(table)

    def _of_sentences(self, table: np.ndarray) -> list[np.ndarray]:
        return np.split(table, np.cumsum(self.lengths))[:-1]


class _Cells:
    """Collects the places of a table, by position in a text and column, that are 1."""

    def __init__(self) -> None:
        self._places: list[np.ndarray] = []
        self._columns: list[np.ndarray] = []

    def add(self, places: np.ndarray, columns: np.ndarray | int) -> None:
        self._places.append(places)
        self._columns.append(np.broadcast_to(columns, places.shape))

    def fill(self, spans: Spans, columns: np.ndarray | int) -> None:
        """``columns`` (one, or one for each span) at the first tokens of the spans, and the next ones at
        the others."""
        self.add(spans.start, columns)
        lengths = spans.end - spans.start - 1
        if lengths.any():
            ends = np.cumsum(lengths)
            inner = np.repeat(spans.start + 1 - (ends - lengths), lengths) + np.arange(ends[-1])
            self.add(inner, np.repeat(np.broadcast_to(columns, lengths.shape), lengths) + 1)

    def of_tokens(
        self, token_at: np.ndarray, lengths: tuple[int, ...], width: int
    ) -> PresentFeatures:
        """The cells at tokens, each once; ``token_at`` has the token at each position, or -1."""
        if not len(token_at):
            none = np.zeros(0, dtype=np.int64)
            return PresentFeatures(none, none, lengths, width)
        tokens = token_at[np.concatenate(self._places)]
        cells = tokens * width + np.concatenate(self._columns)
        cells = np.unique(cells[tokens >= 0])
        return PresentFeatures(cells // width, cells % width, lengths, width)
