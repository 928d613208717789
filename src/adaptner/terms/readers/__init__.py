"""Reads terminologies in any of the known layouts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adaptner.terms.concepts import Concept
from adaptner.terms.readers import tsv

__all__ = ["read_concepts"]


def read_concepts(path: str | Path) -> Iterator[Concept]:
    """Yields the concepts of a file, whose layout its content and its ending tell."""
    return tsv.read(path)
