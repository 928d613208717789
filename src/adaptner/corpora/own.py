"""The corpora that come with the package: small, written for it, one entity type each."""

from __future__ import annotations

from pathlib import Path

from adaptner.corpora.corpus import Corpus, load_corpus
from adaptner.errors import UnknownName, nearest

OWN = ("disease", "drug", "gene", "species", "cellline")

_FOLDER = Path(__file__).parent / "own"


def own_corpus(name: str) -> Corpus:
    """One of ``OWN``: 130 training, 30 development and 70 test sentences."""
    if name not in OWN:
        raise UnknownName(
            kind="corpus of the package",
            name=name,
            near=nearest(name, list(OWN)),
            known=", ".join(OWN),
        )
    return load_corpus(_FOLDER / name)
