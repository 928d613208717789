"""A rule-based sentence splitter for biomedical prose, linear in the length of the text.

We keep our own because it never cuts a gold entity, knows the abbreviations of the field ("E. coli",
"Fig. 2"), and needs neither a model nor a download.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from adaptner.types import Span

# Possessive quantifiers (``++``) and no look-ahead, so that the pattern never backtracks.
_END_OR_BLANK_LINE = re.compile(r"""[.!?…]++["'”’»)\]]*+|\n[^\S\n]*+\n""")
_BRACKET_OR_BLANK_LINE = re.compile(r"[()\[\]]|\n[^\S\n]*+\n")
_SPACE = re.compile(r"\s*+")
# In "1. Introduction" and "Figure 3. Staining of ..." the number alone is not a sentence.
_NUMBERING = re.compile(
    r"(?:(?:figure|fig\.|table|scheme|box|chart)\s)?\d{1,3}[a-z]?", re.IGNORECASE
)
_FIRST_WORD = re.compile(r"\w{0,40}")

# Two brackets further apart are taken for typing errors, not for a parenthesis.
_MAX_PARENTHESIS_CHARACTERS = 600
_MAX_ABBREVIATION_CHARACTERS = 16


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Abbreviations that never end a sentence
_NEVER_LAST = _words(
    "e.g i.e eg ie viz vs cf c.f approx ca fig figs eq eqs eqn eqns ref refs tab suppl supp sect "
    "chap vol vols pp subsp ssp var f.sp resp incl excl dept univ"
)
# The same, only with a capital: "20 ms" does not contain the title Ms.
_NEVER_LAST_CAPITALISED = _words(
    "Dr Drs Prof Mr Mrs Ms St Mt Gen Col Rev Eds Ed Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)
# Abbreviations that end a sentence only if the next word is one that often opens sentences
_SELDOM_LAST = _words("al sp spp etc inc co corp ltd u.s u.k u.s.a")
# Abbreviations only before a number
_BEFORE_NUMBERS = _words("no nos nr p")

_OPENERS = _words(
    "the this these those that there they their we our it its in on at as after although an and "
    "because before both but by during each finally for from furthermore here he she his her how "
    "however if moreover most no not one overall since several some such thus therefore to two "
    "three under using when whereas whether while with all also among another patients "
    "results methods conclusion conclusions background objective treatment"
)
_CANNOT_OPEN = frozenset(",;:.!?)]}%/&+=<>»”’…")


def split_sentences(text: str, keep_whole: Sequence[Span] = ()) -> list[Span]:
    """Returns the spans of the sentences of ``text``, without surrounding white space.

    Every character except white space is in exactly one span. Spans in ``keep_whole`` (gold
    entities) are never cut. A blank line ends a sentence unless such a span crosses it.
    """
    crosses = _crossing_test(keep_whole)
    parentheses = _Parentheses(text)
    sentences: list[Span] = []
    start = _skip_space(text, 0)
    gap_end = 0  # end of the last gap with a blank line; its other blank lines are skipped
    for match in _END_OR_BLANK_LINE.finditer(text):
        mark_at, end = match.span()
        if text[mark_at] == "\n":
            if mark_at < gap_end:
                continue
            end = mark_at
            while end > start and text[end - 1].isspace():
                end -= 1
            gap_end = following = _skip_space(text, match.end())
            is_end = end > start
        else:
            following = _skip_space(text, end)
            is_end = (
                start <= mark_at
                and following > end
                and _ends_sentence(text, start, mark_at, end, following)
                and not parentheses.open_at(end)
            )
        if is_end and following < len(text) and not crosses(end, following):
            sentences.append((start, end))
            start = following
    last = len(text.rstrip())
    if last > start:
        sentences.append((start, last))
    return sentences


def _ends_sentence(text: str, start: int, mark_at: int, end: int, following: int) -> bool:
    """Returns whether the punctuation text[mark_at:end] ends the sentence that began at ``start``."""
    if following == len(text) or not _may_open(text, following):
        return False
    if text[mark_at] != "." or text[mark_at : mark_at + 2] == "..":
        return True
    word = _word_before(text, start, mark_at)
    next_word = _first_word(text, following).lower()
    if not word:
        return not _is_spaced_decimal(text, start, mark_at, following)
    lower = word.lower()
    if lower in _NEVER_LAST or word in _NEVER_LAST_CAPITALISED:
        return False
    if lower in _BEFORE_NUMBERS:
        return not text[following].isdigit()
    if lower in _SELDOM_LAST or _is_initial(word):
        return next_word in _OPENERS
    return _NUMBERING.fullmatch(text, start, mark_at) is None


def _may_open(text: str, at: int) -> bool:
    """Returns whether a sentence can begin with the word at ``at``, judging by its first letters."""
    first = text[at]
    if first in _CANNOT_OPEN:
        return False
    if not first.islower() or "α" <= first <= "ω":
        return True
    # p53, mRNA, miR-21, and tRNAs keep their lower-case letter at the beginning of a sentence.
    word = _first_word(text, at)
    return any(c.isupper() or c.isdigit() for c in word)


def _first_word(text: str, at: int) -> str:
    match = _FIRST_WORD.match(text, at)
    return match[0] if match else ""


def _word_before(text: str, start: int, mark_at: int) -> str:
    """Returns the word that ends at ``mark_at``, without opening brackets and quotation marks."""
    window = text[max(start, mark_at - _MAX_ABBREVIATION_CHARACTERS) : mark_at]
    if not window or window[-1].isspace():
        return ""
    return window.split()[-1].lstrip("([{\"'“‘«")


def _is_initial(word: str) -> bool:
    """Returns whether ``word`` consists of initials of a name or genus: J, J.R, J.-P."""
    parts = word.replace("-", "").split(".")
    return all(len(part) == 1 and part.isupper() for part in parts)


def _is_spaced_decimal(text: str, start: int, mark_at: int, following: int) -> bool:
    """Returns whether the mark is the point of a tokenised decimal: 0 . 05."""
    return (
        text[following].isdigit()
        and mark_at - 2 >= start
        and text[mark_at - 1] == " "
        and text[mark_at - 2].isdigit()
    )


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


class _Parentheses:
    """The spans between brackets. ``open_at`` must be called with increasing positions."""

    def __init__(self, text: str) -> None:
        self._spans = _bracketed(text)
        self._next = 0
        self._furthest_end = -1

    def open_at(self, at: int) -> bool:
        while self._next < len(self._spans) and self._spans[self._next][0] < at:
            self._furthest_end = max(self._furthest_end, self._spans[self._next][1])
            self._next += 1
        return self._furthest_end > at


def _bracketed(text: str) -> list[Span]:
    """Returns the spans of bracket pairs that are close enough and have no blank line between."""
    unclosed: dict[str, list[int]] = {"(": [], "[": []}
    pairs: list[Span] = []
    for match in _BRACKET_OR_BLANK_LINE.finditer(text):
        mark = match[0]
        if mark in unclosed:
            unclosed[mark].append(match.start())
        elif mark in ")]":
            openings = unclosed["(" if mark == ")" else "["]
            if openings and match.end() - (start := openings.pop()) <= _MAX_PARENTHESIS_CHARACTERS:
                pairs.append((start, match.end()))
        else:
            unclosed["("].clear()
            unclosed["["].clear()
    pairs.sort()
    return pairs


def _crossing_test(spans: Iterable[Span]) -> Callable[[int, int], bool]:
    """Returns a function: does any span have characters before ``end`` and after ``following``?"""
    ordered = sorted(spans)
    starts = [start for start, _ in ordered]
    furthest_ends = list(accumulate((end for _, end in ordered), max))

    def crosses(end: int, following: int) -> bool:
        before = bisect_left(starts, end)
        return before > 0 and furthest_ends[before - 1] > following

    return crosses
