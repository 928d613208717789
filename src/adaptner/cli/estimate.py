"""What ``adaptner adapt`` prints about the sentences and about the expected quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adaptner.cli.common import err, warn

if TYPE_CHECKING:
    from adaptner.models.tagger import Tagger
    from adaptner.types import Sentence

_MAX_SHOWN = 3  # issues of each kind; `adaptner check` lists all


def warn_of_issues(sentences: Sequence[Sentence], quiet: bool) -> None:
    """Warn of annotations that look inconsistent or harmful."""
    from adaptner.corpora.annotation_checks import find_issues

    shown: Counter[str] = Counter()
    for issue in find_issues(sentences):
        shown[issue.kind] += 1
        if shown[issue.kind] <= _MAX_SHOWN:
            place = f"sentence {issue.number + 1}: " if issue.is_placed else ""
            warn(place + issue.describe(lambda number: f"sentence {number + 1}"), quiet)
    for kind, count in shown.items():
        if count > _MAX_SHOWN:
            warn(f"{count - _MAX_SHOWN} more of kind {kind!r}: `adaptner check` lists them", quiet)


def print_estimate(tagger: Tagger) -> None:
    """Print the estimate of F1, or why there is none."""
    assessment = tagger.assessment
    if assessment is None:
        if "held_out" not in tagger.facts:
            err.print(
                "no estimate of F1: only the method `named` has one, for up to 300 sentences. Keep "
                "some sentences back and use `adaptner score`"
            )
    elif assessment.overall is None:
        err.print("no estimate of F1, because no entity is annotated")
    else:
        err.print(f"Estimated F1 on similar text: {assessment.overall}")
        if len(assessment.by_label) > 1:
            width = max(map(len, assessment.by_label))
            for label, estimate in assessment.by_label.items():
                err.print(f"  {label:{width}}  {estimate}  from {estimate.mentions} mention(s)")
