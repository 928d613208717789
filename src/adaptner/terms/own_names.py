"""Users' own lists of names: all of them have the kind that the user says, and no rule doubts a match."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from adaptner.errors import OnlyDoubtfulNames
from adaptner.terms.build import compile_concepts, has_key_without_case
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.concepts import Concept
from adaptner.terms.hashing import mixed_word_keys, name_key
from adaptner.terms.kinds import Kind
from adaptner.terms.matching import can_match
from adaptner.text.tokenizer import tokenize

_SOURCE = "own"
_SHOWN = 5


@dataclass(frozen=True)
class OwnNames:
    """The names that a user gives for a label, and those of them that are not used, with the reason."""

    terms: CompiledTerms
    dropped: tuple[tuple[str, str], ...] = ()


def compile_list(
    label: str,
    concepts: Iterable[Concept],
    base_terms: CompiledTerms | None = None,
    *,
    keep_all: bool = False,
) -> OwnNames:
    """Compiles the names of a list. Names of one character, numbers, and what ``base_terms`` know as
    ordinary words are left out; with ``keep_all`` only names that text can never match are."""
    dropped: list[tuple[str, str]] = []

    def usable(concept: Concept) -> Concept | None:
        names, scopes = [], []
        for name, scope in zip(
            concept.names, "E" + concept.scopes.ljust(len(concept.synonyms), "E"), strict=True
        ):
            if reason := _reason(name, base_terms, keep_all):
                dropped.append((name, reason))
            else:
                names.append(name)
                scopes.append(scope)
        if len(names) == 1 + len(concept.synonyms):
            return concept
        if not names:
            return None
        return replace(
            concept, name=names[0], synonyms=tuple(names[1:]), scopes="".join(scopes[1:])
        )

    used = (kept for concept in concepts if (kept := usable(concept)) is not None)
    kind = Kind(label, (f"file:{_SOURCE}",))
    terms = compile_concepts([(_SOURCE, used)], [kind], every_name=True)
    if not len(terms):
        shown = ", ".join(f"{name!r} ({reason})" for name, reason in dropped[:_SHOWN])
        raise OnlyDoubtfulNames(label=label, names=shown)
    return OwnNames(terms, tuple(dropped))


def _reason(name: str, base_terms: CompiledTerms | None, keep_all: bool) -> str:
    """Why a name is not used, or ""."""
    key = name_key(name)
    if key is None or not can_match([name[a:b] for a, b in tokenize(name)]):
        return "text can never match it"
    if keep_all:
        return ""
    if name.isdigit():
        return "a number"
    if key.length < 2:
        return "a single character"
    if key.tokens == 1 and base_terms is not None and has_key_without_case(name):
        word = mixed_word_keys(np.array([key.word], dtype=np.uint64))
        if base_terms.is_ordinary(word)[0]:
            return "an ordinary word"
    return ""
