"""What abbreviations stand for in raw text: how often a sentence defines each, and as what kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.dictionary import RULES, Dictionary, rule_of
from adaptner.terms.doubts import Doubt
from adaptner.terms.hashing import is_symbol, mixed_symbol_keys, word_keys
from adaptner.text.abbreviations import find_definitions

_BATCH = 2000  # long forms
_MOST = np.iinfo(np.uint16).max
_LEAST_DEFINITIONS = 2  # what is defined once is no common abbreviation


def count_definitions(sentences: Iterable[Sequence[str]]) -> Counter[tuple[str, str]]:
    """How often each pair of a short form, of one token, and a long form is defined."""
    counts: Counter[tuple[str, str]] = Counter()
    for tokens in sentences:
        for definition in find_definitions(tokens):
            start, end = definition.short
            if end - start == 1 and is_symbol(tokens[start]):
                counts[tokens[start], " ".join(tokens[slice(*definition.long)])] += 1
    return counts


def add_meanings(terms: CompiledTerms, definitions: Mapping[tuple[str, str], int]) -> None:
    """Adds to ``terms`` how often each abbreviation is defined, and how often as each kind with rules.

    A long form is of a kind if a mention of that kind ends where it ends: "blood pressure" is no disease, "benign
    prostatic hyperplasia" is one even if only "hyperplasia" is known.
    """
    dictionary = Dictionary(terms)
    kinds = list(RULES)
    long_forms = sorted({long for _, long in definitions})
    is_kind = np.zeros((len(long_forms), len(kinds)), dtype=bool)
    for begin in range(0, len(long_forms), _BATCH):
        part = [long.split(" ") for long in long_forms[begin : begin + _BATCH]]
        matches = dictionary.matches(part)
        ends = matches.text.starts + np.array([len(words) for words in part])
        for k, kind in enumerate(kinds):
            found = dictionary.mentions(matches, kind, rule_of(kind)[1] | Doubt.GENERAL)
            is_kind[begin : begin + len(part), k] = np.isin(ends, found.end)
    row_of = {long: row for row, long in enumerate(long_forms)}
    counts: dict[int, np.ndarray] = {}
    for (short, long), count in definitions.items():
        totals = counts.setdefault(word_keys(short).exact, np.zeros(1 + len(kinds), dtype=np.int64))
        totals[0] += count
        totals[1:] += count * is_kind[row_of[long]]
    counts = {key: totals for key, totals in counts.items() if totals[0] >= _LEAST_DEFINITIONS}
    keys = mixed_symbol_keys(np.array(list(counts), dtype=np.uint64))
    order = np.argsort(keys)
    table = np.array(list(counts.values())).reshape(len(counts), 1 + len(kinds))
    terms.arrays["abbreviations"] = keys[order]
    terms.arrays["abbreviation_counts"] = np.minimum(table[order], _MOST).astype(np.uint16)
    terms.facts["abbreviation_kinds"] = kinds
