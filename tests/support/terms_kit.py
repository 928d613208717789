"""Small terminologies, compiled in memory, and what the dictionary finds with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from adaptner.terms.abbreviations import add_meanings
from adaptner.terms.build import compile_concepts
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.concepts import Concept, make_concept
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.doubts import Doubt
from adaptner.terms.hashing import mixed_symbol_keys, mixed_word_keys, name_key
from adaptner.terms.kinds import Kind
from adaptner.terms.statistics import add_counts


def concept(
    id: str, *names: str, parents: Iterable[str] = (), note: str = "", related: Iterable[str] = ()
) -> Concept:
    """A concept whose first name is the preferred one."""
    synonyms = [(name, "E") for name in names[1:]] + [(name, "R") for name in related]
    return make_concept(id, names[0], synonyms, parents, note)


def kind(name: str, *roots: str, **settings) -> Kind:
    """A kind of all concepts of the file that is called as it is, if no roots are given."""
    return Kind(name, roots or (f"file:{name}",), **settings)


def compiled(
    sources: Mapping[str, Iterable[Concept | str]],
    counts: Mapping[str, Mapping[str, int]] | None = None,
    definitions: Mapping[tuple[str, str], int] | None = None,
    kinds: Sequence[Kind] | None = None,
    **settings,
) -> CompiledTerms:
    """Terms of files whose concepts are given; a plain name is a concept of its own.

    ``counts``: how often names were seen in a million words, as {"field_alone": {"actin": 30}}."""
    terms = compile_concepts(
        (
            (
                source,
                [
                    concept(f"{source}:{number}", item) if isinstance(item, str) else item
                    for number, item in enumerate(concepts)
                ],
            )
            for source, concepts in sources.items()
        ),
        kinds,
        **settings,
    )
    if counts:
        values = {count: np.zeros(len(terms), dtype=np.uint32) for count in counts}
        for count, of_names in counts.items():
            for name, value in of_names.items():
                found = [entry for entry in entries_of(terms, name) if entry >= 0]
                values[count][found] = value
        add_counts(terms, values)
    terms.facts.update(field_tokens=1_000_000, general_tokens=1_000_000)
    if definitions:
        add_meanings(terms, definitions)
    return terms


def compiled_kinds(**names: Iterable[Concept | str]) -> CompiledTerms:
    """Terms with a kind for each keyword, and its names."""
    return compiled(names, kinds=[kind(name) for name in names])


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


def found(
    terms: CompiledTerms, kind: str, sentence: str, accepted: Doubt | None = None
) -> list[str]:
    """The mentions in a sentence of tokens with spaces between them."""
    dictionary = Dictionary(terms)
    matches = dictionary.matches([sentence.split()])
    spans = dictionary.mentions(matches, kind, accepted)
    return [_text(matches, a, b) for a, b in zip(spans.start, spans.end, strict=True)]


def proposed(terms: CompiledTerms, kind: str, sentence: str) -> dict[str, Doubt]:
    """All possible mentions with their doubts."""
    dictionary = Dictionary(terms)
    matches = dictionary.matches([sentence.split()])
    spans = dictionary.propose(matches, [kind])[kind]
    return {
        _text(matches, a, b): Doubt(int(doubts))
        for a, b, doubts in zip(spans.start, spans.end, spans.doubts, strict=True)
    }


def _text(matches, start: int, end: int) -> str:
    return " ".join(matches.text.words[start:end])
