"""Counts of names in raw text, compared with counting by hand."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from terms_kit import compiled_kinds, entries_of

from adaptner.terms.compiled import COUNTS, CompiledTerms
from adaptner.terms.dictionary import Dictionary
from adaptner.terms.hashing import mixed_word_keys, name_key
from adaptner.terms.statistics import (
    NameCounts,
    add_counts,
    frequent_mentions,
    in_batches,
    ordinary_words,
)

NAMES = ["red", "red fever", "fever", "red fever nose", "nose"]
WORDS = ["red", "Red", "fever", "Fever", "nose", "and", "RED"]


def counted(sentences: list[list[str]], batch: int = 3) -> tuple[CompiledTerms, NameCounts]:
    terms = compiled_kinds(K=NAMES)
    counts = NameCounts(terms)
    for part in in_batches(sentences, batch):
        counts.add(part)
    return terms, counts


def by_hand(sentences: list[list[str]]) -> dict[str, Counter]:
    counts: dict[str, Counter] = {count: Counter() for count in COUNTS}
    for sentence in sentences:
        spans = [
            (a, b)
            for a in range(len(sentence))
            for b in range(a + 1, len(sentence) + 1)
            if " ".join(sentence[a:b]).lower() in NAMES
        ]
        for a, b in spans:
            name = " ".join(sentence[a:b]).lower()
            inside = any((c, d) != (a, b) and c <= a and b <= d for c, d in spans)
            counts["inside" if inside else "alone"][name] += 1
            counts["lower"][name] += sentence[a].islower()
            counts["capitalised"][name] += sentence[a].istitle() and a > 0
    return counts


@pytest.mark.parametrize("seed", range(8))
def test_counts_equal_those_by_hand(seed):
    rng = random.Random(seed)
    sentences = [rng.choices(WORDS, k=rng.randint(1, 9)) for _ in range(20)]
    terms, counts = counted(sentences)
    expected = by_hand(sentences)
    assert counts.tokens == sum(map(len, sentences))
    for name in NAMES:
        entry, _ = entries_of(terms, name)
        found = {count: int(counts.counts[count][entry]) for count in COUNTS}
        assert found == {count: expected[count][name] for count in COUNTS}, name


def test_stored_counts_are_those_counted(tmp_path):
    terms, counts = counted([["red", "fever"], ["Nose"]])
    add_counts(terms, {f"field_{name}": values for name, values in counts.counts.items()})
    terms.save(tmp_path / "t")
    loaded = CompiledTerms.load(tmp_path / "t")
    every = np.arange(len(terms))
    for name, values in counts.counts.items():
        np.testing.assert_array_equal(loaded.counts(f"field_{name}")[every], values)
    assert len(loaded.arrays["seen"]) == 4  # not "red fever nose"


def test_counts_beyond_two_bytes_are_the_largest_number_of_two_bytes():
    terms = compiled_kinds(K=["red", "blue"])
    add_counts(terms, {"field_alone": np.array([70_000, 3])})
    assert terms.counts("field_alone")[np.arange(2)].tolist() == [65_535, 3]


def test_ordinary_words_are_frequent_and_not_much_more_so_in_the_field():
    general = Counter({"": 5, "house": 100, "Houses": 100, "cell": 100, "rare": 1, "the": 99_000})
    general["filler"] = 1_000_000 - general.total()
    field = Counter({"cell": 5000, "house": 10, "filler": 994_990})
    terms = compiled_kinds(K=["red"])
    terms.arrays["ordinary_words"] = ordinary_words(general, field)
    words = ["house", "cell", "rare", "the", "unseen"]
    keys = np.array([name_key(word).word for word in words], dtype=np.uint64)
    found = terms.is_ordinary(mixed_word_keys(keys))
    assert found.tolist() == [True, False, False, True, False]


def test_most_frequent_mentions_are_shown_as_they_are_mostly_written():
    terms = compiled_kinds(K=NAMES, Nothing=[])
    sentences = [["Red", "fever"], ["a", "red", "fever"], ["red", "fever"], ["nose"]]
    found = frequent_mentions(Dictionary(terms), sentences, 1)
    assert found == {"K": ["red fever"]}
