"""Rules for the kind Cancer, which are some of those for diseases."""

from __future__ import annotations

from adaptner.terms.rules.disease import ACCEPTED, propose_cancer

__all__ = ["ACCEPTED", "propose"]

propose = propose_cancer
