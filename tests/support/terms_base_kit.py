"""A base with tiny terminologies: a few names of each of some kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from adaptner.models.base import Base
from adaptner.models.terms import TERMS_FILE
from adaptner.terms.build import compile_concepts
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.concepts import Concept
from adaptner.terms.dictionary import Dictionary

# Kinds of one file each, with their names: the preferred one and its synonyms, joined by "|"
FILES = {"Procedure": "maxo", "Device": "fda-devices", "CellLine": "cellosaurus"}
NAMES: dict[str, tuple[str, ...]] = {
    "Procedure": (
        "heart surgery|cardiac operation",
        "surgery",
        "laser ablation",
        "biopsy (needle)",
    ),
    "Device": ("laser", "needle", "artificial heart valve", "heart valve|cardiac valve", "stent"),
    "CellLine": ("HeLa", "K562|K-562", "MCF-7", "Vero E6"),
}


def tiny_terms(names: Mapping[str, Iterable[str]] = NAMES) -> CompiledTerms:
    """Compiled in memory. The concepts of a kind are Procedure:0, Procedure:1, …"""
    return compile_concepts(
        (FILES[kind], [_concept(f"{kind}:{i}", line) for i, line in enumerate(lines)])
        for kind, lines in names.items()
    )


def _concept(identifier: str, line: str) -> Concept:
    name, *synonyms = line.split("|")
    return Concept(identifier, name, tuple(synonyms), ())


def base_with_terms(base: Base, folder: Path, names: Mapping[str, Iterable[str]] = NAMES) -> Base:
    """``base`` with these names, saved in ``folder`` and loaded again."""
    file = folder.with_name(f"{folder.name}-{TERMS_FILE}")
    tiny_terms(names).save(file)
    replace(base, dictionary=Dictionary(CompiledTerms.load(file))).save(folder)
    return Base.load(folder)
