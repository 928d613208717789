"""Rules for the kind Chemical."""

from __future__ import annotations

from adaptner.terms.doubts import Doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules.general import general_doubts

# Doubts that a mention may have by default.
ACCEPTED = Doubt.RELATED | Doubt.SHORT


def propose(m: Matches) -> Spans:
    return m.spans(m.has("Chemical"), general_doubts(m))
