"""A pretrained transformer as a base that was not trained on source corpora: HGDA's BioBERT row."""

from __future__ import annotations

from adaptner.methods.base import Method
from adaptner.methods.configuration import make_method
from adaptner.models.base import Base
from adaptner.training.budget import Budget

UNTRAINED_METHOD = "in-domain"  # its ``fit`` does not train


def transformer_base(name: str) -> Base:
    """The base of the transformer ``name`` (as in ``--encoder``), with its settings of adaptation."""
    method: Method = make_method(UNTRAINED_METHOD, encoder=name)
    return method.fit([], Budget(0))
