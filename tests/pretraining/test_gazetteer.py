"""The gazetteer: instances, their spans, and weak labels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptner.pretraining.gazetteer import MIN_INSTANCES, Gazetteer
from adaptner.pretraining.objectives import weak_labels
from adaptner.text.hearst_patterns import InstanceCounts
from adaptner.types import Sentence

WORDS = ["a", "b", "c", "-"]


def gazetteer(*phrases: str, common: tuple[str, ...] = ()) -> Gazetteer:
    kinds = {
        tuple(p.split()): (np.array([0, i + 1]), np.array([0.5, 0.75], dtype=np.float32))
        for i, p in enumerate(phrases)
    }
    return Gazetteer(("thing", *(f"n{i}" for i in range(len(phrases)))), kinds, frozenset(common))


@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), min_size=1, max_size=6),
    st.lists(st.sampled_from(WORDS), max_size=12),
)
def test_spans_are_the_longest_from_the_left(phrases, words):
    known = {tuple(p) for p in phrases}
    expected, i = [], 0
    while i < len(words):
        lengths = [n for n in (3, 2, 1) if i + n <= len(words) and tuple(words[i : i + n]) in known]
        if lengths:
            expected.append((i, i + lengths[0]))
        i += lengths[0] if lengths else 1
    assert gazetteer(*(" ".join(p) for p in phrases)).spans(words) == expected


def test_instances_of_the_gazetteer():
    many = {f"thing{i}": 1 for i in range(MIN_INSTANCES)}
    listed = Counter({**many, "asthma": 3, "provide": 1, "the flu": 2, "il - 6": 2, "age": 9})
    frequency = Counter({f"common{i}": 10**6 for i in range(400)})
    frequency.update({**many, "asthma": 9, "provide": 5000, "flu": 5, "il": 3, "-": 9, "6": 4})
    frequency.update({"age": 9000, "common7": 5})
    listed["common7"] = 50
    instances = InstanceCounts(
        {"disease": listed, "few": Counter({"asthma": 5}), "of": Counter(many)},
        {"disease": Counter({"als1": 8, "once1": 1}), "nobody": Counter({"x1": 9})},
        frequency,
    )
    found = Gazetteer.of(instances)
    assert found.names == ("disease",)  # "few" has too few instances, "of" is not a name
    kinds = {" ".join(p): shares.tolist() for p, (_, shares) in found.kinds.items()}
    assert kinds["asthma"] == [pytest.approx(3 / 4)]
    assert kinds["il - 6"] == [pytest.approx(2 / 3)]
    assert kinds["als1"] == [pytest.approx(2 / 3)]  # eight compounds count as two in a list
    assert kinds["age"] == [pytest.approx(9 / 10)]  # seldom listed, but often enough
    assert not {"provide", "the flu", "common7", "once1"} & kinds.keys()


def test_uncertain_neighbours_of_an_instance():
    known = gazetteer("myopathy", "gout", common=("with",))
    words = ["severe", "distal", "hypertrophic", "myopathy", "syndrome"]
    words += ["with", "2", "gout", "(", "rare", ")"]
    spans = known.spans(words)
    assert spans == [(3, 4), (7, 8)]
    # Two before and one after, but no common words, numbers or punctuation.
    # two words before, one after, no common words
    assert known.uncertain_neighbours(words, spans) == {1, 2, 4}


def test_weak_labels_equal_those_of_a_loop():
    known = gazetteer("a b", "c", common=("-", "x"))
    texts = ["x a b x c", "y c", "x x"]
    sentences = [Sentence.from_tokens(t.split()) for t in texts]
    positions, labels = weak_labels(known, sentences, 5)
    borders, pairs, labelled = [], {}, []
    for row, text in enumerate(texts):
        words = text.split()
        for i, word in enumerate(words):
            if word == "y":  # next to c, so it may belong to it
                continue
            borders.append({"a": 1, "b": 2, "c": 1}.get(word, 0))
            labelled.append(5 * row + i)
            if word in "abc":
                pairs[len(labelled) - 1, 0] = 0.5
                pairs[len(labelled) - 1, 1 if word in "ab" else 2] = 0.75
    assert labels.borders.tolist() == borders
    assert positions.tolist() == labelled
    found = zip(labels.tokens.tolist(), labels.names.tolist(), strict=True)
    assert dict(zip(found, labels.shares.tolist(), strict=True)) == pairs


def test_weak_labels_without_instances_have_borders_only():
    positions, labels = weak_labels(gazetteer("c"), [Sentence.from_tokens(["x", "x"])], 2)
    assert positions.tolist() == [0, 1]
    assert labels.borders.tolist() == [0, 0]
    assert not len(labels.tokens)
    assert not len(labels.shares)
