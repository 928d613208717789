"""Tag schemes: what IOB1, BIO and BIOES are, telling them apart, converting, repairing.

Any sequence is read in one way, that of conlleval: B and S open a mention; I and E go on with the
mention before them if it is still open and of the same type, and open a new one if not; E and S
close. A scheme is then only a way to write the mentions down.
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
    """A tag that was not as its scheme wants it, and what it was taken for."""

    position: int
    found: str
    corrected: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Mention:
    first: int
    last: int
    label: str


@lru_cache(maxsize=4096)  # a file has few different tags, each many times
def parse_tag(tag: str, default_label: str = DEFAULT_LABEL) -> tuple[str, str]:
    """('B', 'Gene') for 'B-Gene', ('B', default_label) for a plain 'B', ('O', '') for 'O'."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, label = tag.partition("-")
    if prefix not in ("B", "I", "E", "S") or (dash and not label):
        raise UnknownTag(tag=tag)
    return prefix, label or default_label


def to_bio(tags: Sequence[str], scheme: Scheme, *, default_label: str = DEFAULT_LABEL) -> list[str]:
    """``tags`` of ``scheme`` in BIO, every tag with its label."""
    parsed = _parsed(tags, scheme, default_label)
    return _written(_mentions(parsed), len(parsed), Scheme.BIO)


def from_bio(
    tags: Sequence[str], scheme: Scheme, *, default_label: str = DEFAULT_LABEL
) -> list[str]:
    """BIO ``tags`` in ``scheme``."""
    parsed = _parsed(tags, Scheme.BIO, default_label)
    return _written(_mentions(parsed), len(parsed), scheme)


def repair_tags(
    tags: Sequence[str], scheme: Scheme, *, default_label: str = DEFAULT_LABEL
) -> tuple[list[str], list[TagRepair]]:
    """``tags`` as well-formed ``scheme``, and each change. A label for a plain tag is no change."""
    parsed = _parsed(tags, scheme, default_label)
    written = _written(_mentions(parsed), len(parsed), scheme)
    repairs = [
        TagRepair(i, tags[i], now, _reason(parsed, i, scheme))
        for i, ((prefix, _), now) in enumerate(zip(parsed, written, strict=True))
        if now[0] != prefix
    ]
    return written, repairs


def detect_scheme(sequences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme of a file's tags; BIO where nothing tells.

    B where no mention of the same type stands just before is BIO, as IOB1 has no use for it; a
    file without such a B whose mentions open with I is IOB1. Both together are BIO with slips (for
    ``repair``): the reading is the same. E or S is BIOES, and a mention that then ends without
    either raises MixedSchemes.
    """
    detector = SchemeDetector("sentence")
    for number, tags in enumerate(sequences, start=1):
        detector.add(tags, [number] * len(tags))
    return detector.scheme()


class SchemeDetector:
    """Gathers the first place of each telling tag, so that a file need not be held.

    ``unit`` is what places count: lines or sentences.
    """

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._opened_by_i = False
        self._needless_b = False
        self._closed: tuple[str, int] | None = None
        self._left_open: tuple[str, int] | None = None

    def add(self, tags: Sequence[str], places: Sequence[int]) -> None:
        """One sentence; ``places`` says where each tag stands."""
        if self._learns_nothing_from(set(tags)):
            return
        parsed = [parse_tag(tag) for tag in tags]
        before: _Mention | None = None
        for mention in _mentions(parsed):
            adjacent = before is not None and before.last + 1 == mention.first
            same_type = before is not None and before.label == mention.label
            opening, closing = parsed[mention.first][0], parsed[mention.last][0]
            self._opened_by_i |= opening == "I"
            self._needless_b |= opening == "B" and not (adjacent and same_type)
            evidence = tags[mention.last], places[mention.last]
            if closing in "ES":
                self._closed = self._closed or evidence
            else:
                self._left_open = self._left_open or evidence
            before = mention

    def _learns_nothing_from(self, tags: set[str]) -> bool:
        """True for most sentences of a file, which makes detection cheap."""
        prefixes = {parse_tag(tag)[0] for tag in tags}
        settled_unless_closed = self._needless_b and self._left_open is not None
        return prefixes <= {OUTSIDE} or (settled_unless_closed and not prefixes & {"E", "S"})

    def scheme(self) -> Scheme:
        if self._closed and self._left_open:
            (closing, here), (other, there) = self._closed, self._left_open
            raise MixedSchemes(
                evidence=f"{closing} at {self._unit} {here} is BIOES, but {other} at "
                f"{self._unit} {there} ends a mention, where BIOES has E- or S-"
            )
        if self._closed:
            return Scheme.BIOES
        return Scheme.IOB1 if self._opened_by_i and not self._needless_b else Scheme.BIO


def _parsed(tags: Sequence[str], scheme: Scheme, default_label: str) -> list[tuple[str, str]]:
    parsed = [parse_tag(tag, default_label) for tag in tags]
    for (prefix, _), tag in zip(parsed, tags, strict=True):
        if prefix != OUTSIDE and prefix not in scheme.prefixes:
            raise MixedSchemes(evidence=f"{tag} among {scheme.value} tags")
    return parsed


def _mentions(parsed: Sequence[tuple[str, str]]) -> list[_Mention]:
    mentions: list[_Mention] = []
    first: int | None = None  # of the mention that is open
    for i, (prefix, label) in enumerate(parsed):
        if first is not None and (prefix in "OBS" or label != parsed[first][1]):
            mentions.append(_Mention(first, i - 1, parsed[first][1]))
            first = None
        if prefix == OUTSIDE:
            continue
        if first is None:
            first = i
        if prefix in "ES":
            mentions.append(_Mention(first, i, label))
            first = None
    if first is not None:
        mentions.append(_Mention(first, len(parsed) - 1, parsed[first][1]))
    return mentions


def _written(mentions: Sequence[_Mention], length: int, scheme: Scheme) -> list[str]:
    tags = [OUTSIDE] * length
    before: _Mention | None = None
    for mention in mentions:
        for i in range(mention.first, mention.last + 1):
            tags[i] = f"I-{mention.label}"
        touching = (
            before is not None
            and before.last + 1 == mention.first
            and before.label == mention.label
        )
        if scheme is not Scheme.IOB1 or touching:
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
        return "B only parts adjacent mentions of one type in IOB1"
    if prefix in "IE":
        if before == OUTSIDE:
            return f"{prefix} opens a mention"
        if label_before != label:
            return f"{prefix} after another type opens a mention"
        if before in "ES":
            return f"{prefix} after {before} opens a mention"
    return "the mention ends here, so the tag must be E or S"
