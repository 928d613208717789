"""Small terminologies, compiled in memory, and what the dictionary finds with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from adaptner.terms.abbreviations import add_meanings
from adaptner.terms.build import compile_concepts
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.concepts import Concept, make_concept
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.doubts import Doubt
from adaptner.terms.hashing import mixed_symbol_keys, mixed_word_keys, name_key


def concept(
    concept_id: str, name: str, *synonyms: str, parents: Iterable[str] = (), note: str = ""
) -> Concept:
    return make_concept(concept_id, name, [(s, "E") for s in synonyms], parents, note)


def compiled(
    sources: Mapping[str, Iterable[Concept]],
    counts: Mapping[str, Mapping[str, int]] | None = None,
    definitions: Mapping[tuple[str, str], int] | None = None,
) -> CompiledTerms:
    """``counts``: how often names were seen in a million words, as {"field_alone": {"actin": 30}}."""
    terms = compile_concepts(sources.items())
    for count, of_names in (counts or {}).items():
        values = np.zeros(len(terms.arrays["fingerprints"]), dtype=np.uint32)
        for name, value in of_names.items():
            key = name_key(name)
            for keys in (
                mixed_word_keys(np.array([key.word], dtype=np.uint64)),
                mixed_symbol_keys(np.array([key.symbol], dtype=np.uint64)),
            ):
                entry = terms.find(keys)
                values[entry[entry >= 0]] = value
        terms.arrays[count] = values
    terms.facts.update(field_tokens=1_000_000, general_tokens=1_000_000)
    if definitions:
        add_meanings(terms, definitions)
    return terms


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
