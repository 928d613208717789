"""A rule-based sentence splitter for biomedical prose, linear in the length of the text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from adaptner.types import Span

# Possessive (``++``) and without look-ahead: the pattern never goes back, whatever the text.
_END_OR_BLANK_LINE = re.compile(r"""[.!?…]++["'”’»)\]]*+|\n[^\S\n]*+\n""")
_BRACKET_OR_BLANK_LINE = re.compile(r"[()\[\]]|\n[^\S\n]*+\n")
_SPACE = re.compile(r"\s*+")
# "1. Introduction", "Figure 3. Staining of ...": what is only a number is no sentence.
_NUMBERING = re.compile(
    r"(?:(?:figure|fig\.|table|scheme|box|chart)\s)?\d{1,3}[a-z]?", re.IGNORECASE
)
_FIRST_WORD = re.compile(r"\w{0,40}")

# A bracket further from its partner than this is taken for a slip, not for a parenthesis.
_LONGEST_PARENTHESIS = 600
# No abbreviation is longer than this.
_LONGEST_ABBREVIATION = 16


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEVER_LAST = _words(
    "e.g i.e eg ie viz vs cf c.f approx ca fig figs eq eqs eqn eqns ref refs tab suppl supp sect "
    "chap vol vols pp subsp ssp var f.sp resp incl excl dept univ"
)
# With a capital only: "20 ms" and "a sea mar" are not titles and months.
_NEVER_LAST_CAPITALISED = _words(
    "Dr Drs Prof Mr Mrs Ms St Mt Gen Col Rev Eds Ed Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)
# These end a sentence now and then, so a word that opens many sentences decides.
_SELDOM_LAST = _words("al sp spp etc inc co corp ltd u.s u.k u.s.a")
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
    """The sentences of ``text`` as spans without outer white space.

    Every character that is not white space is in exactly one span, and no span of ``keep_whole``
    (gold entities) is cut. A blank line always ends a sentence, unless such a span runs across it.
    """
    crosses = _crossing_test(keep_whole)
    parentheses = _Parentheses(text)
    sentences: list[Span] = []
    start = _skip_space(text, 0)
    seen = 0  # up to here, blank lines belong to a gap that was looked at before
    for match in _END_OR_BLANK_LINE.finditer(text):
        mark_at, end = match.span()
        if text[mark_at] == "\n":
            if mark_at < seen:
                continue
            end = mark_at
            while end > start and text[end - 1].isspace():
                end -= 1
            seen = following = _skip_space(text, match.end())
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
    """Whether the end marks text[mark_at:end] close a sentence, given what comes next."""
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
    """Whether a sentence can begin here: not with a plain lower-case word or a closing mark."""
    first = text[at]
    if first in _CANNOT_OPEN:
        return False
    if not first.islower() or "α" <= first <= "ω":
        return True
    # p53, mRNA, miR-21, tRNAs: names that keep their small first letter.
    word = _first_word(text, at)
    return any(c.isupper() or c.isdigit() for c in word)


def _first_word(text: str, at: int) -> str:
    match = _FIRST_WORD.match(text, at)
    return match[0] if match else ""


def _word_before(text: str, start: int, mark_at: int) -> str:
    """The unbroken characters that end at ``mark_at``, without opening brackets and quotes."""
    window = text[max(start, mark_at - _LONGEST_ABBREVIATION) : mark_at]
    if not window or window[-1].isspace():
        return ""
    return window.split()[-1].lstrip("([{\"'“‘«")


def _is_initial(word: str) -> bool:
    """J, J.R, J.-P: letters of a name or of a genus."""
    parts = word.replace("-", "").split(".")
    return all(len(part) == 1 and part.isupper() for part in parts)


def _is_spaced_decimal(text: str, start: int, mark_at: int, following: int) -> bool:
    """0 . 05, as tokenised text has it."""
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
    """The bracketed stretches of a text; to be asked about rising places only."""

    def __init__(self, text: str) -> None:
        self._stretches = _bracketed(text)
        self._next = 0
        self._furthest = -1

    def open_at(self, at: int) -> bool:
        while self._next < len(self._stretches) and self._stretches[self._next][0] < at:
            self._furthest = max(self._furthest, self._stretches[self._next][1])
            self._next += 1
        return self._furthest > at


def _bracketed(text: str) -> list[Span]:
    """(begin, end) of each bracket pair that is near enough and not parted by a blank line."""
    waiting: dict[str, list[int]] = {"(": [], "[": []}
    pairs: list[Span] = []
    for match in _BRACKET_OR_BLANK_LINE.finditer(text):
        mark = match[0]
        if mark in waiting:
            waiting[mark].append(match.start())
        elif mark in ")]":
            opened = waiting["(" if mark == ")" else "["]
            if opened and match.end() - (begin := opened.pop()) <= _LONGEST_PARENTHESIS:
                pairs.append((begin, match.end()))
        else:
            waiting["("].clear()
            waiting["["].clear()
    pairs.sort()
    return pairs


def _crossing_test(spans: Iterable[Span]) -> Callable[[int, int], bool]:
    """A test whether some span has characters both before ``end`` and after ``following``."""
    ordered = sorted(spans)
    starts = [a for a, _ in ordered]
    furthest: list[int] = []
    for _, b in ordered:
        furthest.append(max(b, furthest[-1]) if furthest else b)

    def crosses(end: int, following: int) -> bool:
        before = bisect_left(starts, end)
        return before > 0 and furthest[before - 1] > following

    return crosses
