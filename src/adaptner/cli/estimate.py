"""What ``adaptner adapt`` says of the sentences and of what can be expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adaptner.cli.common import err, warn

if TYPE_CHECKING:
    from adaptner.models.tagger import Tagger
    from adaptner.types import Sentence

_SHOWN = 3  # remarks of each kind; `adaptner check` has them all


def say_what_hurts(sentences: Sequence[Sentence], quiet: bool) -> None:
    from adaptner.corpora.annotation_checks import find_issues

    shown: Counter[str] = Counter()
    for one in find_issues(sentences):
        shown[one.kind] += 1
        if shown[one.kind] <= _SHOWN:
            place = f"sentence {one.number + 1}: " if one.is_placed else ""
            warn(place + one.describe(lambda number: f"sentence {number + 1}"), quiet)
    for kind, count in shown.items():
        if count > _SHOWN:
            warn(f"{count - _SHOWN} more of kind {kind!r}: `adaptner check` lists them", quiet)


def say_estimate(tagger: Tagger, quiet: bool) -> None:
    if quiet:
        return
    found = tagger.assessment
    if found is None:
        if "held_out" not in tagger.facts:
            _line(
                "no estimate of F1: there is one for the method `named` and up to 300 sentences; keep "
                "some back and use `adaptner score`"
            )
    elif found.overall is None:
        _line("how good it is cannot be told: no entity is marked")
    else:
        _line(f"F1 to expect on such text: {found.overall}, nine times in ten")
        if len(found.by_label) > 1:
            width = max(map(len, found.by_label))
            for label, own in found.by_label.items():
                _line(f"  {label:{width}}  {own}  from {own.mentions} mention(s)")


def _line(text: str) -> None:
    err.print(text, markup=False)
