"""The corpora in the package: small, written for it, with one entity type each."""

from __future__ import annotations

from pathlib import Path

from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.errors import UnknownName

BUNDLED = ("disease", "drug", "gene", "species", "cellline")

BUNDLED_FOLDER = Path(__file__).parent / "bundled"


def bundled_corpus(name: str) -> Corpus:
    """Loads one of ``BUNDLED``: 130 training, 30 development, and 70 test sentences."""
    if name not in BUNDLED:
        raise UnknownName.among(BUNDLED, kind="bundled corpus", name=name)
    return load_corpus(BUNDLED_FOLDER / name)
