"""Tag schemes (IOB1, BIO, BIOES): detection, conversion, and repair.

Every sequence of tags is read as conlleval does, whatever its scheme: B and S open a mention; I and E
continue an open mention of the same type, otherwise they open a new one; E and S close the mention.
A scheme only determines how mentions are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from adaptner.errors import MixedSchemes, UnknownTag
from adaptner.types import OUTSIDE

DEFAULT_LABEL = "ENTITY"


class Scheme(Enum):
    IOB1 = "IOB1"
    BIO = "BIO"
    BIOES = "BIOES"

    @property
    def prefixes(self) -> str:
        return "BIES" if self is Scheme.BIOES else "BI"


@dataclass(frozen=True, slots=True)
class TagRepair:
    """A tag that violates its scheme and the tag that replaces it."""

    position: int
    found: str
    corrected: str
    reason: str


@dataclass(frozen=True, slots=True)
class TagMention:
    """Indices of the first and the last token of a mention, and its label."""

    first: int
    last: int
    label: str


@lru_cache(maxsize=4096)  # A file repeats a few different tags many times.
def parse_tag(tag: str, default_label: str = DEFAULT_LABEL) -> tuple[str, str]:
    """Returns ('B', 'Gene') for 'B-Gene', ('B', default_label) for 'B', and ('O', '') for 'O'.

    Raises UnknownTag for anything else.
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, label = tag.partition("-")
    if prefix not in ("B", "I", "E", "S") or (dash and not label):
        raise UnknownTag(tag=tag)
    return prefix, label or default_label


def to_bio(tags: Sequence[str], scheme: Scheme, *, default_label: str = DEFAULT_LABEL) -> list[str]:
    """Converts ``tags`` of ``scheme`` to BIO; tags without a label get ``default_label``."""
    parsed = _parsed(tags, scheme, default_label)
    return _to_tags(find_mentions(parsed), len(parsed), Scheme.BIO)


def from_bio(
    tags: Sequence[str], scheme: Scheme, *, default_label: str = DEFAULT_LABEL
) -> list[str]:
    """Converts BIO ``tags`` to ``scheme``."""
    parsed = _parsed(tags, Scheme.BIO, default_label)
    return _to_tags(find_mentions(parsed), len(parsed), scheme)


def repair_tags(
    tags: Sequence[str], scheme: Scheme, *, default_label: str = DEFAULT_LABEL
) -> tuple[list[str], list[TagRepair]]:
    """Returns valid tags of ``scheme`` and the changes made.

    Adding ``default_label`` to a tag without a label is not reported as a change.
    """
    parsed = _parsed(tags, scheme, default_label)
    repaired = _to_tags(find_mentions(parsed), len(parsed), scheme)
    repairs = [
        TagRepair(i, tags[i], tag, _reason(parsed, i, scheme))
        for i, ((prefix, _), tag) in enumerate(zip(parsed, repaired, strict=True))
        if tag[0] != prefix
    ]
    return repaired, repairs


def detect_scheme(sequences: Iterable[Sequence[str]]) -> Scheme:
    """Returns the scheme of the tag sequences of a file, BIO if they fit several.

    IOB1 uses B only directly after a mention of the same type, so any other B means BIO. Without
    such a B, mentions that open with I mean IOB1; with one, they are errors in BIO that
    ``repair_tags`` corrects. E or S means BIOES. Raises MixedSchemes if other mentions of the
    file then end without E or S.
    """
    detector = SchemeDetector("sentence")
    for number, tags in enumerate(sequences, start=1):
        detector.add(tags, [number] * len(tags))
    return detector.scheme()


class SchemeDetector:
    """Detects the scheme one sentence at a time, so that a file need not fit in memory.

    ``unit`` ("line" or "sentence") is what ``places`` count, for the message of MixedSchemes.
    """

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._has_opening_i = False
        self._has_b_unlike_iob1 = False
        # The first mention that ends with E or S, and the first that does not: tag and place.
        self._closed: tuple[str, int] | None = None
        self._unclosed: tuple[str, int] | None = None

    def add(self, tags: Sequence[str], places: Sequence[int]) -> None:
        """Adds the tags of one sentence; ``places`` are their line or sentence numbers."""
        if self._is_uninformative(set(tags)):
            return
        parsed = [parse_tag(tag) for tag in tags]
        before: TagMention | None = None
        for mention in find_mentions(parsed):
            adjacent = before is not None and before.last + 1 == mention.first
            same_type = before is not None and before.label == mention.label
            opening, closing = parsed[mention.first][0], parsed[mention.last][0]
            self._has_opening_i |= opening == "I"
            self._has_b_unlike_iob1 |= opening == "B" and not (adjacent and same_type)
            evidence = tags[mention.last], places[mention.last]
            if closing in "ES":
                self._closed = self._closed or evidence
            else:
                self._unclosed = self._unclosed or evidence
            before = mention

    def _is_uninformative(self, tags: set[str]) -> bool:
        """Skips most sentences of a file, which makes detection fast."""
        prefixes = {parse_tag(tag)[0] for tag in tags}
        bio_unless_closed = self._has_b_unlike_iob1 and self._unclosed is not None
        return prefixes <= {OUTSIDE} or (bio_unless_closed and not prefixes & {"E", "S"})

    def scheme(self) -> Scheme:
        if self._closed and self._unclosed:
            (closing, place), (other, other_place) = self._closed, self._unclosed
            raise MixedSchemes(
                evidence=f"{closing} at {self._unit} {place} is BIOES, but {other} at "
                f"{self._unit} {other_place} ends a mention, which BIOES writes with E- or S-"
            )
        if self._closed:
            return Scheme.BIOES
        return Scheme.IOB1 if self._has_opening_i and not self._has_b_unlike_iob1 else Scheme.BIO


def _parsed(tags: Sequence[str], scheme: Scheme, default_label: str) -> list[tuple[str, str]]:
    parsed = [parse_tag(tag, default_label) for tag in tags]
    for (prefix, _), tag in zip(parsed, tags, strict=True):
        if prefix != OUTSIDE and prefix not in scheme.prefixes:
            raise MixedSchemes(evidence=f"{tag} among {scheme.value} tags")
    return parsed


def find_mentions(parsed: Sequence[tuple[str, str]]) -> list[TagMention]:
    """Returns the mentions of a sequence of results of ``parse_tag``."""
    mentions: list[TagMention] = []
    first: int | None = None  # first token of the open mention
    for i, (prefix, label) in enumerate(parsed):
        if first is not None and (prefix in "OBS" or label != parsed[first][1]):
            mentions.append(TagMention(first, i - 1, parsed[first][1]))
            first = None
        if prefix == OUTSIDE:
            continue
        if first is None:
            first = i
        if prefix in "ES":
            mentions.append(TagMention(first, i, label))
            first = None
    if first is not None:
        mentions.append(TagMention(first, len(parsed) - 1, parsed[first][1]))
    return mentions


def _to_tags(mentions: Sequence[TagMention], length: int, scheme: Scheme) -> list[str]:
    tags = [OUTSIDE] * length
    before: TagMention | None = None
    for mention in mentions:
        for i in range(mention.first, mention.last + 1):
            tags[i] = f"I-{mention.label}"
        adjacent_to_same_type = (
            before is not None
            and before.last + 1 == mention.first
            and before.label == mention.label
        )
        if scheme is not Scheme.IOB1 or adjacent_to_same_type:
            tags[mention.first] = f"B-{mention.label}"
        if scheme is Scheme.BIOES:
            single = mention.first == mention.last
            tags[mention.last] = f"{'S' if single else 'E'}-{mention.label}"
        before = mention
    return tags


def _reason(parsed: Sequence[tuple[str, str]], i: int, scheme: Scheme) -> str:
    prefix, label = parsed[i]
    before, label_before = parsed[i - 1] if i else (OUTSIDE, "")
    if scheme is Scheme.IOB1:
        return "in IOB1, B only separates adjacent mentions of one type"
    if prefix in "IE":
        if before == OUTSIDE:
            return f"{prefix} opens a mention"
        if label_before != label:
            return f"{prefix} after another type opens a mention"
        if before in "ES":
            return f"{prefix} after {before} opens a mention"
    return "the last tag of a mention must be E or S"
