"""Abbreviations that a text defines: "diabetes mellitus (DM)" makes DM a disease in the sentences that follow,
"direct manipulation (DM)" makes it none, whatever a terminology says.

A definition holds in its own sentence and in the next ten of the same document. It works forward only, so
that texts of any length can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adaptner.terms.doubts import Doubt
from adaptner.terms.matches import Spans
from adaptner.terms.matching import Text
from adaptner.text.abbreviations import find_definitions

WINDOW = 10  # sentences after the one with the definition
# A long form may be a mention as some would mark it, though not by default.
_CONVENTIONS = np.uint32(Doubt.WITH_HEAD | Doubt.WITH_MODIFIER | Doubt.JOINED | Doubt.RELATED)


def apply_definitions(
    text: Text,
    proposed: Mapping[str, Spans],
    accepted: Mapping[str, Doubt],
    documents: Sequence[int] | None = None,
) -> dict[str, Spans]:
    """The proposals of each kind, with those of abbreviations that the text defines. ``documents`` has the
    number of each sentence's document; without it each sentence is one."""
    shorts = _occurrences(text, documents)
    if not shorts:
        return dict(proposed)
    return {kind: _of_kind(spans, accepted[kind], shorts) for kind, spans in proposed.items()}


def _occurrences(text: Text, documents: Sequence[int] | None) -> list[tuple[int, int, int, int]]:
    """Start and end of each occurrence of a defined short form, and of the long form that it stands for.
    Of two definitions of one short form, the later one counts from where it stands."""
    starts = text.starts.tolist()
    found: dict[tuple[int, int], tuple[int, int, int, int]] = {}
    for number, start in enumerate(starts):
        end = starts[number + 1] - 1 if number + 1 < len(starts) else len(text.words) - 1
        words = text.words[start:end]
        if "(" not in words and "[" not in words:
            continue
        last = number
        if documents is not None:
            until = min(len(starts), number + 1 + WINDOW)
            while last + 1 < until and documents[last + 1] == documents[number]:
                last += 1
        stop = starts[last + 1] - 1 if last + 1 < len(starts) else len(text.words) - 1
        for definition in find_definitions(words):
            a, b = definition.short
            short = text.numbers[start + a : start + b]
            places = start + np.flatnonzero(text.numbers[start:stop] == short[0])
            for place in places.tolist():
                if (text.numbers[place : place + b - a] == short).all():
                    long = (start + definition.long[0], start + definition.long[1])
                    found[place, place + b - a] = (place, place + b - a, *long)
    return list(found.values())


def _of_kind(spans: Spans, accepted: Doubt, shorts: Sequence[tuple[int, int, int, int]]) -> Spans:
    """The spans with the short forms of this kind, and with doubts at those of no kind or another."""
    fine = (spans.doubts & ~(np.uint32(accepted) | _CONVENTIONS)) == 0
    ends: dict[int, list[int]] = {}
    for row in np.flatnonzero(fine).tolist():
        ends.setdefault(int(spans.end[row]), []).append(row)
    at: dict[tuple[int, int], list[int]] = {}
    for row, place in enumerate(zip(spans.start.tolist(), spans.end.tolist(), strict=True)):
        at.setdefault(place, []).append(row)
    doubts, entries = spans.doubts.copy(), spans.entry.copy()
    added = []
    for start, end, long_start, long_end in shorts:
        rows = [r for r in ends.get(long_end, ()) if spans.start[r] < long_end]
        # The mention is most of the long form: "acute myeloid leukaemia", not its last word alone.
        rows = [
            r
            for r in rows
            if 2 * (long_end - max(long_start, int(spans.start[r]))) >= long_end - long_start
        ]
        same = at.get((start, end), [])
        if not rows:
            doubts[same] |= np.uint32(Doubt.DEFINED_OTHERWISE)
            continue
        # It means what its long form does, not what a terminology has under the same letters.
        listed = [r for r in rows if spans.entry[r] >= 0]
        entry = int(spans.entry[min(listed, key=lambda r: int(spans.start[r]))]) if listed else -1
        if same:
            doubts[same], entries[same] = Doubt.DEFINED, entry
        else:
            added.append((start, end, entry))
    result = Spans(spans.start, spans.end, entries, doubts)
    if added:
        starts, ends_, of_long = zip(*added, strict=True)
        result = result + Spans.of(starts, ends_, of_long, int(Doubt.DEFINED))
    return result
