"""Rules for the kind Variant: changes of DNA and proteins as the field writes them, and rs numbers."""

from __future__ import annotations

import re

import numpy as np

from adaptner.terms.doubts import Doubt, raise_doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules.general import doubts_of_kind

# Doubts that a mention may have by default. Words such as "deletion" are named, but not by default.
ACCEPTED = Doubt.PATTERN | Doubt.DEFINED_OTHERWISE

_ACID = (
    "(?:Ala|Arg|Asn|Asp|Cys|Gln|Glu|Gly|His|Ile|Leu|Lys|Met|Phe|Pro|Ser|Thr|Trp|Tyr|Val|Ter|Stop)"
)
_LETTER = "[ACDEFGHIKLMNPQRSTVWY]"
_BASE = "[ACGTU]"
_BASES = f"{_BASE}+"
_SHIFT = r"fs(?:\\*?\(?[X*]?\d*\)?|Ter\d+)?"
_TO = "(?:>|->|-->|→|/|to)"
_PLACE = r"[-+*]?\d+(?:[-+]\d+)?"
_CHANGE = rf"(?:{_BASES}{_TO}{_BASES}|(?:del|ins|dup)(?:{_BASES}|\d+)?(?:ins{_BASES})?|inv)"
_PROTEIN = (
    rf"(?:p\.)?\(?{_ACID}-?\d+-?(?:{_ACID}|X|\*|=|{_SHIFT}|del|dup)(?:{_SHIFT})?\)?"  # p.Val600Glu
    rf"|(?:p\.)?(?!{_BASE}\d+{_BASE}$){_LETTER}\d{{2,5}}(?:{_LETTER}|X|\*)(?:{_SHIFT})?"  # V600E
    rf"|p\.{_LETTER}\d+(?:{_LETTER}|X|\*|{_SHIFT}|del|dup)(?:{_SHIFT})?"
)
_DNA = (
    rf"[cgmnr]\.\(?{_PLACE}(?:_{_PLACE})?{_CHANGE}\)?"  # c.35G>A
    rf"|[cgmnr]\.{_BASES}?{_PLACE}(?:{_BASES}|{_TO}{_BASES})"  # c.G35A
    rf"|IVS\d+[-+]\d+{_CHANGE}"
    rf"|[-+]?\d+(?:[-+]\d+)?(?:_\d+)?(?:{_BASES}{_TO}{_BASES}|(?:del|ins|dup){_BASES})"  # 35delG
    rf"|{_BASE}[-+]?\d{{2,}}{_TO}?{_BASE}"  # C-344T
)
_RS_NUMBER = r"rs\d{3,}"
_PATTERNS = {
    kind: re.compile("|".join(patterns))
    for kind, patterns in {
        "Variant": (_PROTEIN, _DNA, _RS_NUMBER),
        "ProteinVariant": (_PROTEIN,),
        "DNAVariant": (_DNA,),
        "SNP": (_RS_NUMBER,),
    }.items()
}
_PREFIX = re.compile("[cgmnpr]")
_SEED = re.compile(
    rf"{_ACID}\d+.*|{_ACID}|{_LETTER}\d+(?:{_LETTER}|X|fs.*)?|[ACGTU]|\d+[ACGTU]+|\d+_?(?:del|ins|dup)[ACGTU]*|"
    r"\d+|rs\d+|IVS\d+"
)
_MOST_TOKENS = 14
# Names of cell lines and genes that are written alike: "T47D", "H2A"
_OTHER_KINDS = ("CellLine", "human or rodent gene", "Species")


def propose(m: Matches, kind: str) -> Spans:
    doubts = doubts_of_kind(m, kind)
    raise_doubt(doubts, Doubt.GENERAL, np.ones(len(m), dtype=bool))
    listed = m.spans(np.flatnonzero(m.has(kind)), doubts)
    return listed + _patterns(m, _PATTERNS[kind])


def _patterns(m: Matches, pattern: re.Pattern[str]) -> Spans:
    words = m.text.words
    prefix, seed, dot = m.text.passes(_is_prefix), m.text.passes(_is_seed), m.text.passes(_is_dot)
    prefixed = np.flatnonzero(prefix[:-1] & dot[1:])
    found: dict[tuple[int, int], int] = {}
    taken = 0
    for start in np.union1d(prefixed, np.flatnonzero(seed)).tolist():
        if start >= taken and (end := _end_of_variant(words, start, pattern)):
            found[start, end] = int(Doubt.PATTERN)
            taken = end
    other = m.has(*_OTHER_KINDS) & m.exact
    for start, end in zip(m.start[other].tolist(), m.end[other].tolist(), strict=True):
        if (start, end) in found:
            found[start, end] |= Doubt.SEVERAL_KINDS
    return Spans.of([a for a, _ in found], [b for _, b in found], doubts=list(found.values()))


def _end_of_variant(words: list[str], start: int, pattern: re.Pattern[str]) -> int:
    """The position after the longest variant that begins at ``start`` and ends with a token, or 0."""
    end = start + 1
    while end < len(words) and words[end] and end - start < _MOST_TOKENS:
        end += 1
    for stop in range(end, start, -1):
        text = "".join(words[start:stop])
        balanced = text.count("(") == text.count(")")
        if balanced and pattern.fullmatch(text) and any(c.isdigit() for c in text):
            return stop
    return 0


def _is_prefix(word: str) -> bool:
    return _PREFIX.fullmatch(word) is not None


def _is_seed(word: str) -> bool:
    return _SEED.fullmatch(word) is not None


def _is_dot(word: str) -> bool:
    return word == "."
