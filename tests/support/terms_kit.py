"""Tiny terminologies for tests."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from adaptner.terms.build import compile_concepts
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.concepts import Concept, make_concept
from adaptner.terms.hashing import mixed_symbol_keys, mixed_word_keys, name_key
from adaptner.terms.kinds import Kind

DISEASES = ["asthma", "brain fever", "diabetes mellitus", "breast cancer"]


def concept(
    id: str, *names: str, parents: Iterable[str] = (), note: str = "", related: Iterable[str] = ()
) -> Concept:
    """A concept whose first name is the preferred one."""
    synonyms = [(name, "E") for name in names[1:]] + [(name, "R") for name in related]
    return make_concept(id, names[0], synonyms, parents, note)


def concepts_of(names: Iterable[str], prefix: str = "X") -> list[Concept]:
    """A concept for each name: X:0, X:1, …"""
    return [concept(f"{prefix}:{number}", name) for number, name in enumerate(names)]


def kind(name: str, *roots: str, **settings: object) -> Kind:
    """A kind of all concepts of the file that is called as it is, if no roots are given."""
    return Kind(name, roots or (f"file:{name}",), **settings)


def terms_of(
    sources: Mapping[str, Iterable[Concept | str]], kinds: Sequence[Kind] | None = None, **settings
) -> CompiledTerms:
    """Compiled terms of files; a plain name is a concept of its own."""
    return compile_concepts(
        (
            (
                source,
                (
                    concept(f"{source}:{number}", item) if isinstance(item, str) else item
                    for number, item in enumerate(concepts)
                ),
            )
            for source, concepts in sources.items()
        ),
        kinds,
        **settings,
    )


def kinds_terms(**names: Iterable[Concept | str]) -> CompiledTerms:
    """Compiled terms with a kind for each keyword, and its names."""
    return terms_of(names, [kind(name) for name in names])


def entries_of(terms: CompiledTerms, name: str) -> tuple[int, int]:
    """The entries of a name without its case and with it, or -1."""
    key = name_key(name)
    assert key is not None
    word = terms.find(mixed_word_keys(np.array([key.word], dtype=np.uint64)))
    symbol = terms.find(mixed_symbol_keys(np.array([key.symbol], dtype=np.uint64)))
    return int(word[0]), int(symbol[0])


def kinds_of(terms: CompiledTerms, entry: int) -> set[str]:
    bits = terms.kinds_of(np.array([entry]))[0]
    names = [*terms.facts["kinds"], *terms.facts["attributes"]]
    return {n for i, n in enumerate(names) if int(bits[i // 64]) >> (i % 64) & 1}


def write_tsv(path: Path, concepts: Iterable[Concept]) -> Path:
    """Writes concepts, without scopes, in the layout of the terminologies."""
    rows = ["id\tname\tsynonyms\tparents\tnote"]
    for c in concepts:
        rows.append("\t".join([c.id, c.name, "|".join(c.synonyms), "|".join(c.parents), c.note]))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
