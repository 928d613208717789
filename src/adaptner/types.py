"""The nouns of the project: what a reader yields, a method sees and a tagger returns.

All are immutable. Offsets are code points into the text they belong to, so
``text[entity.start:entity.end]`` is always the mention itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

Span = tuple[int, int]
TagScheme = Literal["bio", "bioes"]

OUTSIDE = "O"
_PREFIXES: dict[TagScheme, str] = {"bio": "BI", "bioes": "BIES"}


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A labelled stretch of text; its words are derived from the text, never stored twice."""

    start: int
    end: int
    label: str
    score: float | None = None

    def text_in(self, text: str) -> str:
        return text[self.start : self.end]

    def shifted(self, by: int) -> Entity:
        return Entity(self.start + by, self.end + by, self.label, self.score)


@dataclass(frozen=True)
class Sentence:
    """A tokenised sentence. ``start`` is its place in the document it was cut from."""

    text: str
    token_spans: tuple[Span, ...]
    entities: tuple[Entity, ...] = ()
    start: int = 0

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(self.text[a:b] for a, b in self.token_spans)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """BIO tags of the tokens; entities are on token boundaries (readers see to it)."""
        tags = [OUTSIDE] * len(self.token_spans)
        first_token_at = {a: i for i, (a, _) in enumerate(self.token_spans)}
        for entity in self.entities:
            i = first_token_at[entity.start]
            tags[i] = f"B-{entity.label}"
            while self.token_spans[i][1] < entity.end:
                i += 1
                tags[i] = f"I-{entity.label}"
        return tuple(tags)

    def __len__(self) -> int:
        return len(self.token_spans)

    def without_entities(self) -> Sentence:
        """The same sentence with no entity marked."""
        return Sentence(self.text, self.token_spans, (), self.start)

    @classmethod
    def from_tokens(cls, tokens: Iterable[str], tags: Iterable[str] | None = None) -> Sentence:
        """A sentence whose text is its tokens joined by one space; ``tags`` are well-formed BIO."""
        tokens = list(tokens)
        spans: list[Span] = []
        at = 0
        for token in tokens:
            spans.append((at, at + len(token)))
            at += len(token) + 1
        sentence = cls(" ".join(tokens), tuple(spans))
        return sentence if tags is None else sentence.with_tags(tags)

    def with_tags(self, tags: Iterable[str]) -> Sentence:
        """The same sentence with its entities read off well-formed BIO ``tags``."""
        entities: list[Entity] = []
        for (a, b), tag in zip(self.token_spans, tags, strict=True):
            prefix, _, label = tag.partition("-")
            if prefix == "B":
                entities.append(Entity(a, b, label))
            elif prefix == "I":
                entities[-1] = Entity(entities[-1].start, b, label)
        return Sentence(self.text, self.token_spans, tuple(entities), self.start)


@dataclass(frozen=True)
class Document:
    """A text and its entities, as a file gave them.

    ``token_spans`` is set where the file fixed the tokens (CoNLL) and None where they are ours to
    find; such a pre-tokenised document is one sentence.
    """

    text: str
    entities: tuple[Entity, ...] = ()
    id: str = ""
    token_spans: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class LabelSet:
    """The entity types of a domain, sorted, and the tags they give: O, B-x, I-x, B-y, ... in BIO,
    O, B-x, I-x, E-x, S-x, B-y, ... in BIOES."""

    labels: tuple[str, ...]
    scheme: TagScheme = "bio"

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(sorted(set(self.labels))))

    @cached_property
    def tags(self) -> tuple[str, ...]:
        return (OUTSIDE, *(f"{p}-{label}" for label in self.labels for p in _PREFIXES[self.scheme]))

    @cached_property
    def index(self) -> dict[str, int]:
        return {tag: i for i, tag in enumerate(self.tags)}

    @cached_property
    def _closing(self) -> dict[str, int]:
        """The number in BIOES of each BIO tag that is the last of its mention."""
        closing = {
            f"{bio}-{x}": self.index[f"{p}-{x}"] for x in self.labels for bio, p in ("BS", "IE")
        }
        return {OUTSIDE: 0, **closing}

    def tag_ids(self, sentence: Sentence) -> list[int]:
        """The number of each token's tag."""
        index = self.index
        if self.scheme == "bio":
            return [index[tag] for tag in sentence.tags]
        closing = self._closing
        return [
            (index if after[0] == "I" else closing)[tag]
            for tag, after in pairwise((*sentence.tags, OUTSIDE))
        ]

    def with_labels(self, labels: Iterable[str]) -> LabelSet:
        """These labels instead, in the same scheme."""
        return LabelSet(tuple(labels), self.scheme)

    def includes(self, other: LabelSet) -> bool:
        """Every label of ``other`` is one of these, whatever the schemes."""
        return set(other.labels) <= set(self.labels)

    @classmethod
    def of(cls, sentences: Iterable[Sentence]) -> LabelSet:
        return cls(tuple({e.label for s in sentences for e in s.entities}))

    def __len__(self) -> int:
        return len(self.labels)
