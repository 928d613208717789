"""A pretrained transformer as a base that has learnt from no source: HGDA's BioBERT row."""

from __future__ import annotations

from adaptner.methods.base import Method
from adaptner.methods.configuration import make_method
from adaptner.models.base import Base
from adaptner.training.budget import Budget

UNTRAINED_METHOD = "in-domain"  # the method that takes nothing of the sources


def transformer_base(name: str) -> Base:
    """``name`` as ``--encoder`` takes it; what the method is told of adaptation is kept in the base."""
    chosen: Method = make_method(UNTRAINED_METHOD, encoder=name)
    return chosen.fit([], Budget(0))
