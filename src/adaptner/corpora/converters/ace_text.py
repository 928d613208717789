"""The text of an ACE document as its annotations count it: the SGML without its tags."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from adaptner.errors import RawFileUnusable
from adaptner.formats.lines import decode_line, open_for_reading

# A tag or an escape. Attributes may hold anything but their quotation mark (QUOTE PREVIOUSPOST="..").
_MARKUP = re.compile(
    r"""<(/?)([A-Za-z][\w.-]*)(?:[^<>"]|"[^"]*")*>|&(?:amp|lt|gt|quot|apos);""", re.I
)
# What stands inside TEXT but is no part of what is said: who speaks, who writes, when.
_LABELS = {"SPEAKER", "POSTER", "POSTDATE", "ENDTIME", "DATE"}


@dataclass(frozen=True)
class AceText:
    """``units[i]`` is what stands at the place that annotations call ``i``; ``stretches`` are the
    places (begin, end) of running text, no tag inside."""

    units: list[str]
    stretches: list[tuple[int, int]]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(unit) for unit in self.units)]

    def between(self, start: int, end: int) -> str:
        return "".join(self.units[start:end])

    def place(self, start: int, at: int) -> int:
        """Where the unit ``at`` begins in ``between(start, ...)``."""
        return self._starts[at] - self._starts[start]

    def says(self, first: int, last: int, text: str) -> bool:
        """``text`` stands from ``first`` to ``last``, white space aside."""
        there = 0 <= first <= last < len(self.units)
        return there and _bare(self.between(first, last + 1)) == _bare(text)


def read_sgm(path: Path) -> list[AceText]:
    """The text in the two ways its characters can be counted: with an escape (``&amp;``) as many
    characters, as it is written, or as one. The annotations tell which is right."""
    with open_for_reading(path) as file:
        lines = [decode_line(raw, path, n, keep_end=True) for n, raw in enumerate(file, start=1)]
    source = "".join(lines).replace("\r\n", "\n")
    texts = [_stripped(source, as_written) for as_written in (True, False)]
    if not texts[0].stretches:
        raise RawFileUnusable(file=path, reason="it has no TEXT", source="LDC2006T06")
    return texts


def _stripped(source: str, as_written: bool) -> AceText:
    units: list[str] = []
    stretches: list[tuple[int, int]] = []
    inside: list[str] = []  # the elements that are open, TEXT and below
    begun = at = 0

    def end_stretch() -> None:
        if inside and not _LABELS & set(inside) and any(u.strip() for u in units[begun:]):
            stretches.append((begun, len(units)))

    for match in _MARKUP.finditer(source):
        units += source[at : match.start()]
        at = match.end()
        if match[2] is None:
            units.append(html.unescape(match[0].lower()))
            if as_written:
                units += [""] * (len(match[0]) - 1)
            continue
        end_stretch()
        begun = len(units)
        element = match[2].upper()
        if match[1]:
            while element in inside and inside.pop() != element:
                pass
        elif (inside or element == "TEXT") and not match[0].endswith("/>"):
            inside.append(element)
    units += source[at:]
    return AceText(units, stretches)


def _bare(text: str) -> str:
    return "".join(text.split())
