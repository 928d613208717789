"""The data types of the project: entities, sentences, documents, and label sets.

All are immutable. Offsets count Unicode code points of the text, so
``text[entity.start:entity.end]`` is always the mention.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

Span = tuple[int, int]
TagScheme = Literal["bio", "bioes"]

OUTSIDE = "O"
_PREFIXES: dict[TagScheme, str] = {"bio": "BI", "bioes": "BIES"}


@dataclass(frozen=True, slots=True)
class Origin:
    """The name of a terminology that an entity was found by: as it is written, or the long form of an
    abbreviation. ``labels`` are others that know the same stretch of text."""

    name: str
    kinds: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A labelled mention. Its words are not stored; ``text_in`` derives them from the text. ``ids`` are those
    of the concepts that terminologies know it as, the likeliest first. ``origin`` is
    the name that it was found by, if that was asked for."""

    start: int
    end: int
    label: str
    score: float | None = None
    ids: tuple[str, ...] = ()
    origin: Origin | None = field(default=None, compare=False)

    def text_in(self, text: str) -> str:
        return text[self.start : self.end]

    def shifted(self, offset: int) -> Entity:
        return replace(self, start=self.start + offset, end=self.end + offset)


@dataclass(frozen=True)
class Sentence:
    """A tokenised sentence; ``start`` is its offset in the document it comes from."""

    text: str
    token_spans: tuple[Span, ...]
    entities: tuple[Entity, ...] = ()
    start: int = 0

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        return tuple(self.text[a:b] for a, b in self.token_spans)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The BIO tags of the tokens. Entities must lie on token boundaries, as readers ensure."""
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
        return Sentence(self.text, self.token_spans, (), self.start)

    @classmethod
    def from_tokens(cls, tokens: Iterable[str], tags: Iterable[str] | None = None) -> Sentence:
        """Returns a sentence whose text is the tokens joined by spaces; ``tags`` must be valid BIO."""
        tokens = list(tokens)
        spans: list[Span] = []
        start = 0
        for token in tokens:
            spans.append((start, start + len(token)))
            start += len(token) + 1
        sentence = cls(" ".join(tokens), tuple(spans))
        return sentence if tags is None else sentence.with_tags(tags)

    def with_tags(self, tags: Iterable[str]) -> Sentence:
        """Returns this sentence with the entities that ``tags`` (valid BIO) describe."""
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
    """A text and its entities, as read from a file.

    ``token_spans`` is None unless the file defines the tokens (CoNLL). A document with
    ``token_spans`` is one sentence.
    """

    text: str
    entities: tuple[Entity, ...] = ()
    id: str = ""
    token_spans: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class LabelSet:
    """The sorted entity labels of a domain and their tags: O, B-x, I-x, B-y, ... in BIO, and
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
    def _last_token_ids(self) -> dict[str, int]:
        """For the BIO tag of a mention's last token, the ID of its BIOES tag (S for B, E for I)."""
        ids = {f"{bio}-{x}": self.index[f"{p}-{x}"] for x in self.labels for bio, p in ("BS", "IE")}
        return {OUTSIDE: 0, **ids}

    def tag_ids(self, sentence: Sentence) -> list[int]:
        """Returns the index in ``tags`` of each token's tag; raises KeyError for other labels."""
        index = self.index
        if self.scheme == "bio":
            return [index[tag] for tag in sentence.tags]
        last = self._last_token_ids
        return [
            (index if next_tag[0] == "I" else last)[tag]
            for tag, next_tag in pairwise((*sentence.tags, OUTSIDE))
        ]

    def with_labels(self, labels: Iterable[str]) -> LabelSet:
        """Returns a set of these labels in the same scheme."""
        return LabelSet(tuple(labels), self.scheme)

    def includes(self, other: LabelSet) -> bool:
        """Returns whether every label of ``other`` is in this set; schemes are ignored."""
        return set(other.labels) <= set(self.labels)

    @classmethod
    def of(cls, sentences: Iterable[Sentence]) -> LabelSet:
        return cls(tuple({e.label for s in sentences for e in s.entities}))

    def __len__(self) -> int:
        return len(self.labels)
