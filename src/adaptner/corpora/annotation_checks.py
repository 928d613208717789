"""Finds likely annotation errors, such as duplicates and inconsistent labels."""

from __future__ import annotations

from collections import defaultdict
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
        if self.other is None:
            return self.message
        return self.message.replace(_PLACE_OF_OTHER, place(self.other))

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
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        for entity in sentence.entities:
            numbers[entity.label].append(number)
    for label, found in numbers.items():
        if len(found) == 1:
            message = f"label {label} occurs only here"
            issues.append(AnnotationIssue("label seen once", found[0], message))
    issues += find_contradictions(sentences)
    if len(sentences) >= MIN_SENTENCES and all(s.entities for s in sentences):
        message = (
            "every sentence contains an entity; add some without any, as they occur in your text, "
            "otherwise the tagger will find too many"
        )
        issues.append(AnnotationIssue("no empty sentence", 0, message, is_placed=False))
    return issues


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def find_contradictions(sentences: Sequence[Sentence]) -> list[AnnotationIssue]:
    """Returns an issue for each mention with several labels or unlabelled occurrences, the most
    frequent first.

    Mentions are compared by their tokens, with case. An occurrence inside a longer entity does not
    count as unlabelled, because part of a name need not be a mention.
    """
    # The sentences of each occurrence by mention and label; the label None stands for unlabelled.
    occurrences: dict[tuple[str, ...], dict[str | None, list[int]]] = {}
    for number, sentence in enumerate(sentences):
        for entity in sentence.entities:
            mention = tuple(
                sentence.text[a:b]
                for a, b in sentence.token_spans
                if entity.start <= a and b <= entity.end
            )
            occurrences.setdefault(mention, {}).setdefault(entity.label, []).append(number)
    for number, mention in _unlabelled_occurrences(sentences, occurrences):
        occurrences[mention].setdefault(None, []).append(number)
    found = []
    for mention, by_label in occurrences.items():
        if len(by_label) > 1:
            first, *others = [numbers[0] for numbers in by_label.values()]
            counts = {label: len(numbers) for label, numbers in by_label.items()}
            message = _contradiction(" ".join(mention), counts)
            issue = AnnotationIssue("uneven annotation", first, message, min(others))
            found.append((-sum(counts.values()), " ".join(mention), issue))
    return [issue for *_, issue in sorted(found, key=lambda item: item[:2])]


def _contradiction(mention: str, counts: Mapping[str | None, int]) -> str:
    labelled = ", ".join(f"{x} {_times(n)}" for x, n in counts.items() if x is not None)
    message = f"{mention!r} is labelled {labelled}"
    if None in counts:
        message += f" and left unlabelled {_times(counts[None])}"
    return f"{message} (see {_PLACE_OF_OTHER})"


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
