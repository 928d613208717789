"""A base with tiny terminologies: a few names of each of some kinds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from terms_kit import compiled, concept

from adaptner.models.base import Base
from adaptner.models.installed import default_base
from adaptner.models.terms import TERMS_FILE
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.concepts import Concept
from adaptner.terms.dictionary import Dictionary

# Files of one kind each, with their concepts: an id, the preferred name and synonyms
FILES: dict[str, list[Concept]] = {
    "maxo": [  # Procedure
        concept("P:1", "heart surgery", "cardiac operation"),
        concept("P:2", "surgery"),
        concept("P:3", "laser ablation"),
        concept("P:4", "radical cystectomy"),
        concept("P:5", "HS"),
    ],
    "fda-devices": [  # Device
        concept("D:1", "laser"),
        concept("D:2", "needle"),
        concept("D:3", "artificial heart valve"),
        concept("D:4", "heart valve", "cardiac valve", "stent"),
        concept("D:5", "stent"),
    ],
    "cellosaurus": [  # CellLine
        concept("C:1", "HeLa"),
        concept("C:2", "K562", "K-562"),
        concept("C:3", "Vero E6"),
    ],
}
NAMES = [name for concepts in FILES.values() for c in concepts for name in (c.name, *c.synonyms)]


def base_with_terms(base: Base, folder: Path) -> Base:
    """``base`` with these names, saved in ``folder`` and loaded again."""
    file = folder.with_name(f"{folder.name}-{TERMS_FILE}")
    compiled(FILES).save(file)
    replace(base, dictionary=Dictionary(CompiledTerms.load(file))).save(folder)
    return Base.load(folder)


def default_base_without_terms() -> Base:
    """The shipped base as it adapts to labels that no terminology knows."""
    return replace(default_base(), dictionary=None, raw_sentences=[])
