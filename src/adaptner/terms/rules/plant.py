"""Rules for the kind Plant, which are those for species."""

from __future__ import annotations

from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules import species

ACCEPTED = species.ACCEPTED


def propose(m: Matches) -> Spans:
    return species.propose(m, "Plant")
