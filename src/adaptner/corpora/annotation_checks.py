"""Remarks on annotated sentences: what is legal but may be a slip."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adaptner.types import Sentence

MIN_SENTENCES = 5  # sentences: with fewer it is chance that none is without an entity


@dataclass(frozen=True)
class AnnotationIssue:
    """``number`` is that of the sentence it is about, from 0; ``other`` that of one to compare, whose
    place stands in the message for ``_OTHER``."""

    kind: str
    number: int
    message: str
    other: int | None = None
    is_placed: bool = True  # about one sentence, not about all

    def describe(self, place: Callable[[int], str]) -> str:
        return (
            self.message if self.other is None else self.message.replace(_OTHER, place(self.other))
        )

    def as_json(self) -> dict[str, object]:
        """Sentences are counted from 1."""
        message = self.describe(lambda number: f"sentence {number + 1}")
        return {"kind": self.kind, "sentence": self.number + 1, "message": message}


_OTHER = "\0"  # no text of ours or of a user's holds one


def find_issues(sentences: Sequence[Sentence]) -> list[AnnotationIssue]:
    """What is legal in ``sentences`` but may be a slip, or hurts who learns from them."""
    found = []
    for number, earlier in find_duplicates(sentences).items():
        found.append(AnnotationIssue("duplicate", number, f"the same as {_OTHER}", earlier))
    labels = Counter(e.label for s in sentences for e in s.entities)
    for label, count in labels.items():
        if count == 1:
            where = next(
                i for i, s in enumerate(sentences) if any(e.label == label for e in s.entities)
            )
            found.append(
                AnnotationIssue("label seen once", where, f"label {label} is seen only here")
            )
    for one in find_contradictions(sentences):
        ways = [f"{label} {n}x" for label, n in one.labels.items()]
        if one.unmarked:
            ways.append(f"unmarked {one.unmarked}x")
        message = f"{one.mention!r} is {', '.join(ways)} (compare {_OTHER})"
        found.append(
            AnnotationIssue("uneven annotation", one.first_marked, message, one.first_other)
        )
    if len(sentences) >= MIN_SENTENCES and all(s.entities for s in sentences):
        message = "every sentence has an entity: add some without, as they come"
        found.append(AnnotationIssue("no empty sentence", 0, message, is_placed=False))
    return found


@dataclass(frozen=True)
class Contradiction:
    """A mention that is marked in one way here and in another, or not at all, there.

    ``first_marked`` and ``first_other`` are numbers of sentences, from 0.
    """

    mention: str
    labels: Mapping[str, int]
    unmarked: int
    first_marked: int
    first_other: int


def find_contradictions(sentences: Sequence[Sentence]) -> list[Contradiction]:
    """The mentions marked unevenly, most often so first.

    Compared token by token, case included. An occurrence inside a longer entity is not taken for
    unmarked: part of a name is rightly no mention of its own.
    """
    labels: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    places: dict[tuple[tuple[str, ...], str], int] = {}
    for number, sentence in enumerate(sentences):
        for entity in sentence.entities:
            mention = tuple(
                sentence.text[a:b]
                for a, b in sentence.token_spans
                if entity.start <= a and b <= entity.end
            )
            labels[mention][entity.label] += 1
            places.setdefault((mention, entity.label), number)
    unmarked: Counter[tuple[str, ...]] = Counter()
    first_unmarked: dict[tuple[str, ...], int] = {}
    for number, mention in _unmarked(sentences, labels):
        unmarked[mention] += 1
        first_unmarked.setdefault(mention, number)
    found = []
    for mention, counts in labels.items():
        if len(counts) > 1 or unmarked[mention]:
            seen = [places[mention, label] for label in counts]
            others = [*seen[1:], *([first_unmarked[mention]] if unmarked[mention] else [])]
            found.append(
                Contradiction(
                    " ".join(mention), dict(counts), unmarked[mention], seen[0], min(others)
                )
            )
    return sorted(found, key=lambda c: (-c.unmarked - sum(c.labels.values()), c.mention))


def find_duplicates(sentences: Sequence[Sentence]) -> dict[int, int]:
    """Number of each sentence whose text stood before, with the number of the first such one."""
    first: dict[str, int] = {}
    again: dict[int, int] = {}
    for number, sentence in enumerate(sentences):
        earlier = first.setdefault(sentence.text, number)
        if earlier != number:
            again[number] = earlier
    return again


def _unmarked(
    sentences: Sequence[Sentence], mentions: Mapping[tuple[str, ...], object]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    lengths: dict[str, set[int]] = defaultdict(set)
    for mention in mentions:
        lengths[mention[0]].add(len(mention))
    for number, sentence in enumerate(sentences):
        tokens = [sentence.text[a:b] for a, b in sentence.token_spans]
        free = _free_runs(sentence)
        for i, token in enumerate(tokens):
            for length in lengths.get(token, ()):
                candidate = tuple(tokens[i : i + length])
                if free[i] >= length and candidate in mentions:
                    yield number, candidate


def _free_runs(sentence: Sentence) -> list[int]:
    """For each token, how many tokens from it on are outside every entity."""
    marked = [False] * len(sentence)
    starts = {a: i for i, (a, _) in enumerate(sentence.token_spans)}
    for entity in sentence.entities:
        i = starts[entity.start]
        while i < len(sentence) and sentence.token_spans[i][0] < entity.end:
            marked[i] = True
            i += 1
    runs = [0] * (len(sentence) + 1)
    for i in range(len(sentence) - 1, -1, -1):
        runs[i] = 0 if marked[i] else runs[i + 1] + 1
    return runs
