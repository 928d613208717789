"""Reads the text of an ACE document, the SGML without tags, whose characters annotations count."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from adaptner.errors import RawFileUnusable
from adaptner.formats.lines import decode_line, open_for_reading

# A tag or an escape. Attributes may contain anything except their quotation mark.
_MARKUP = re.compile(
    r"""<(/?)([A-Za-z][\w.-]*)(?:[^<>"]|"[^"]*")*>|&(?:amp|lt|gt|quot|apos);""", re.I
)
# Elements inside TEXT that are not running text
_METADATA = {"SPEAKER", "POSTER", "POSTDATE", "ENDTIME", "DATE"}


@dataclass(frozen=True)
class AceText:
    """``units[i]`` is the text at the offset that annotations call ``i``; ``spans`` are the (start,
    end) offsets of running text without tags."""

    units: list[str]
    spans: list[tuple[int, int]]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(unit) for unit in self.units)]

    def between(self, start: int, end: int) -> str:
        return "".join(self.units[start:end])

    def place(self, start: int, at: int) -> int:
        """Returns the offset of the unit ``at`` in ``between(start, ...)``."""
        return self._starts[at] - self._starts[start]

    def matches(self, first: int, last: int, text: str) -> bool:
        """Returns whether ``text`` is at ``first`` to ``last``, ignoring white space."""
        in_range = 0 <= first <= last < len(self.units)
        return in_range and _squeeze(self.between(first, last + 1)) == _squeeze(text)


def read_sgm(path: Path) -> list[AceText]:
    """Returns the text with an escape (``&amp;``) counted as several characters and as one.

    Files differ in this, and only the annotations show which is right.
    """
    with open_for_reading(path) as file:
        lines = [decode_line(raw, path, n, keep_end=True) for n, raw in enumerate(file, start=1)]
    source = "".join(lines).replace("\r\n", "\n")
    texts = [_without_tags(source, as_written) for as_written in (True, False)]
    if not texts[0].spans:
        raise RawFileUnusable(file=path, reason="it has no TEXT element", source="LDC2006T06")
    return texts


def _without_tags(source: str, as_written: bool) -> AceText:
    units: list[str] = []
    spans: list[tuple[int, int]] = []
    open_elements: list[str] = []  # TEXT and the elements inside it
    start = at = 0

    def end_span() -> None:
        running_text = open_elements and not _METADATA & set(open_elements)
        if running_text and any(u.strip() for u in units[start:]):
            spans.append((start, len(units)))

    for match in _MARKUP.finditer(source):
        units += source[at : match.start()]
        at = match.end()
        if match[2] is None:
            units.append(html.unescape(match[0].lower()))
            if as_written:
                units += [""] * (len(match[0]) - 1)
            continue
        end_span()
        start = len(units)
        element = match[2].upper()
        if match[1]:
            while element in open_elements and open_elements.pop() != element:
                pass
        elif (open_elements or element == "TEXT") and not match[0].endswith("/>"):
            open_elements.append(element)
    units += source[at:]
    return AceText(units, spans)


def _squeeze(text: str) -> str:
    return "".join(text.split())
