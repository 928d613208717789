"""Finds likely annotation errors, such as duplicates and inconsistent labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adaptner.types import Sentence

MIN_SENTENCES = 5  # With fewer, every sentence may have an entity by chance.


@dataclass(frozen=True)
class AnnotationIssue:
    """A likely error in the sentence with index ``number``.

    ``other`` is the index of a sentence to compare; ``describe`` puts its place into the message.
    """

    kind: str
    number: int
    message: str
    other: int | None = None
    is_placed: bool = True  # False if the issue concerns all sentences

    def describe(self, place: Callable[[int], str]) -> str:
        return (
            self.message
            if self.other is None
            else self.message.replace(_PLACE_OF_OTHER, place(self.other))
        )

    def as_json(self) -> dict[str, object]:
        """Returns the issue with sentence numbers from 1."""
        message = self.describe(lambda number: f"sentence {number + 1}")
        return {"kind": self.kind, "sentence": self.number + 1, "message": message}


_PLACE_OF_OTHER = "\0"  # occurs in no text


def find_issues(sentences: Sequence[Sentence]) -> list[AnnotationIssue]:
    """Returns the issues of ``sentences`` that may be errors or harm training."""
    issues = []
    for number, earlier in find_duplicates(sentences).items():
        issues.append(
            AnnotationIssue("duplicate", number, f"the same as {_PLACE_OF_OTHER}", earlier)
        )
    labels = Counter(e.label for s in sentences for e in s.entities)
    for label, count in labels.items():
        if count == 1:
            number = next(
                i for i, s in enumerate(sentences) if any(e.label == label for e in s.entities)
            )
            message = f"label {label} occurs only here"
            issues.append(AnnotationIssue("label seen once", number, message))
    for contradiction in find_contradictions(sentences):
        issues.append(
            AnnotationIssue(
                "uneven annotation",
                contradiction.first_labelled,
                contradiction.message(),
                contradiction.first_other,
            )
        )
    if len(sentences) >= MIN_SENTENCES and all(s.entities for s in sentences):
        message = (
            "every sentence contains an entity; add some without any, as they occur in your text, "
            "otherwise the tagger will find too many"
        )
        issues.append(AnnotationIssue("no empty sentence", 0, message, is_placed=False))
    return issues


@dataclass(frozen=True)
class Contradiction:
    """A mention that has different labels in different sentences, or is unlabelled in some.

    ``first_labelled`` and ``first_other`` are indices of sentences.
    """

    mention: str
    labels: Mapping[str, int]  # number of occurrences by label
    unlabelled: int
    first_labelled: int
    first_other: int

    def message(self) -> str:
        labelled = ", ".join(f"{label} {_times(count)}" for label, count in self.labels.items())
        message = f"{self.mention!r} is labelled {labelled}"
        if self.unlabelled:
            message += f" and left unlabelled {_times(self.unlabelled)}"
        return f"{message} (see {_PLACE_OF_OTHER})"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def find_contradictions(sentences: Sequence[Sentence]) -> list[Contradiction]:
    """Returns the inconsistently labelled mentions, the most frequent first.

    Mentions are compared by their tokens, with case. An occurrence inside a longer entity does not
    count as unlabelled, because part of a name need not be a mention.
    """
    labels: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    first_with_label: dict[tuple[tuple[str, ...], str], int] = {}
    for number, sentence in enumerate(sentences):
        for entity in sentence.entities:
            mention = tuple(
                sentence.text[a:b]
                for a, b in sentence.token_spans
                if entity.start <= a and b <= entity.end
            )
            labels[mention][entity.label] += 1
            first_with_label.setdefault((mention, entity.label), number)
    unlabelled: Counter[tuple[str, ...]] = Counter()
    first_unlabelled: dict[tuple[str, ...], int] = {}
    for number, mention in _unlabelled_occurrences(sentences, labels):
        unlabelled[mention] += 1
        first_unlabelled.setdefault(mention, number)
    found = []
    for mention, counts in labels.items():
        if len(counts) > 1 or unlabelled[mention]:
            first, *others = [first_with_label[mention, label] for label in counts]
            if unlabelled[mention]:
                others.append(first_unlabelled[mention])
            found.append(
                Contradiction(
                    " ".join(mention), dict(counts), unlabelled[mention], first, min(others)
                )
            )
    return sorted(found, key=lambda c: (-c.unlabelled - sum(c.labels.values()), c.mention))


def find_duplicates(sentences: Sequence[Sentence]) -> dict[int, int]:
    """Maps the index of each repeated sentence to the index of its first occurrence."""
    first: dict[str, int] = {}
    duplicates: dict[int, int] = {}
    for number, sentence in enumerate(sentences):
        earlier = first.setdefault(sentence.text, number)
        if earlier != number:
            duplicates[number] = earlier
    return duplicates


def _unlabelled_occurrences(
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
    """For each token, the number of consecutive tokens from it that are outside all entities."""
    labelled = [False] * len(sentence)
    starts = {a: i for i, (a, _) in enumerate(sentence.token_spans)}
    for entity in sentence.entities:
        i = starts[entity.start]
        while i < len(sentence) and sentence.token_spans[i][0] < entity.end:
            labelled[i] = True
            i += 1
    runs = [0] * (len(sentence) + 1)
    for i in range(len(sentence) - 1, -1, -1):
        runs[i] = 0 if labelled[i] else runs[i + 1] + 1
    return runs
