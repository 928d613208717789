"""Rules for the kind Bacterium, which are those for species."""

from __future__ import annotations

from adaptner.terms.doubts import Doubt
from adaptner.terms.matches import Matches, Spans
from adaptner.terms.rules import species

# Genera and groups are named more often than species.
ACCEPTED = species.ACCEPTED | Doubt.HIGHER


def propose(m: Matches) -> Spans:
    return species.propose(m, "Bacterium")
