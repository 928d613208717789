"""Random walks on a terminology: every step against the plain list of concepts, mixing, and extremes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from adaptner.text.tokenizer import tokenize
from adaptner.vectors.settings import WalkSettings
from adaptner.vectors.walks import Concept, TermGraph, spread_evenly

# Every name is one word that says whose it is, so that a walk can be read back.
CONCEPTS = [
    Concept("d1", "root", [], []),
    Concept("d2", "left", ["left1", "left2"], ["d1"]),
    Concept("d3", "right", [], ["d1"]),
    Concept("d4", "both", ["both1"], ["d2", "d3", "elsewhere"]),
    Concept("d5", "circle", [], ["d6"]),
    Concept("d6", "round", ["round1"], ["d5", "d6"]),  # a cycle, and its own parent
    Concept("d7", "alone", ["alone1"], []),
    Concept("d8", "bare", [], ["elsewhere"]),
]


def allowed_steps(concepts: list[Concept]) -> dict[str, set[str]]:
    """For each name and synonym, those that a step may lead to, found by comparing all pairs."""
    allowed = {}
    for here in concepts:
        names = set(here.synonyms)
        for other in concepts:
            if other.id != here.id and (other.id in here.parents or here.id in other.parents):
                names.add(other.name)
        for name in (here.name, *here.synonyms):
            allowed[name] = names
    return allowed


def walks_of(concepts: list[Concept], seed: int = 0, **settings: int) -> list[list[str]]:
    return [
        line.split(" ") for line in TermGraph.of(concepts).walks(WalkSettings(**settings), seed)
    ]


def test_every_step_is_a_parent_child_or_synonym_of_the_one_before():
    allowed = allowed_steps(CONCEPTS)
    seen = Counter()
    for walk in walks_of(CONCEPTS, per_heading=200):
        assert len(walk) == (1 if walk[0] == "bare" else 21)
        for one, two in pairwise(walk):
            assert two in allowed[one]
            seen[one, two] += 1
    assert set(seen) == {(one, two) for one in allowed for two in allowed[one]}


def test_each_heading_starts_the_same_number_of_walks_and_no_synonym_starts_one():
    walks = walks_of(CONCEPTS, per_heading=7, steps=3)
    assert Counter(walk[0] for walk in walks) == {concept.name: 7 for concept in CONCEPTS}
    for i in range(0, len(walks), len(CONCEPTS)):
        assert len({walk[0] for walk in walks[i : i + len(CONCEPTS)]}) == len(CONCEPTS)


def test_all_steps_have_the_same_probability():
    concepts = [
        Concept("p", "parent", [], []),
        Concept("h", "heading", ["synonym", "entry term"], ["p"]),
        Concept("c", "child", [], ["h"]),
        Concept("k", "kid", [], ["h"]),
    ]
    walks = TermGraph.of(concepts).walks(WalkSettings(per_heading=10_000, steps=1), 0)
    steps = Counter(w.removeprefix("heading ") for w in walks if w.startswith("heading "))
    assert set(steps) == {"parent", "child", "kid", "synonym", "entry term"}
    # The standard deviation of a count of 10,000 with probability 1/5 is 40.
    assert all(abs(count - 2000) < 200 for count in steps.values())


def test_names_are_written_as_tokens_with_spaces_between_them():
    concept = Concept("D1", "Bird Fancier's  Lung", ["IL-2 (10 µg)"], [])
    walk = next(TermGraph.of([concept]).walks(WalkSettings(steps=1), 0))
    assert walk == "Bird Fancier ' s Lung IL - 2 ( 10 µg )"


def test_the_seed_alone_decides_the_walks():
    assert walks_of(CONCEPTS, seed=1) == walks_of(list(CONCEPTS), seed=1)
    assert walks_of(CONCEPTS, seed=1) != walks_of(CONCEPTS, seed=2)


def test_no_concepts_and_no_steps():
    assert walks_of([]) == []
    assert sorted(walks_of(CONCEPTS[:2], per_heading=1, steps=0)) == [["left"], ["root"]]


@pytest.mark.parametrize(("sentences", "walks"), [(0, 0), (1, 0), (1, 5), (5, 1), (7, 3), (3, 7)])
def test_mixing_keeps_every_line_once_and_in_order_at_equal_distances(sentences, walks):
    text, extra = [f"s{i}" for i in range(sentences)], [f"w{i}" for i in range(walks)]
    mixed = list(spread_evenly(iter(text), sentences, iter(extra), walks))
    assert [line for line in mixed if line[0] == "s"] == text
    assert [line for line in mixed if line[0] == "w"] == extra
    for number, sentence in enumerate(text[1:], 1):
        before = mixed[: mixed.index(sentence)]
        assert sum(line[0] == "w" for line in before) == number * walks // sentences


@pytest.mark.slow
def test_walks_on_mesh_follow_its_tree(shared_data):
    from adaptner.cli.vectors.terminology import read_concepts

    path = shared_data / "terms" / "mesh.tsv.xz"
    if not path.is_file():
        pytest.skip(f"no terminology at {path}")
    real = list(read_concepts(path))
    # Names of one word in place of the real ones, so that a walk can be read back.
    concepts = [
        Concept(c.id, c.id, [f"{c.id}s{i}" for i in range(len(c.synonyms))], c.parents)
        for c in real
    ]
    owner = {name: c.id for c in concepts for name in (c.id, *c.synonyms)}
    links = {(c.id, parent) for c in concepts for parent in c.parents}
    walks = walks_of(concepts, per_heading=2)
    assert Counter(walk[0] for walk in walks) == {c.id: 2 for c in concepts}
    for walk in walks:
        for one, two in pairwise(walk):
            here = owner[one]
            is_synonym = owner[two] == here and two != here
            assert is_synonym or (here, two) in links or (two, here) in links
    start = next(TermGraph.of(real).walks(WalkSettings(steps=0), 0))
    assert start in {" ".join(c.name[a:b] for a, b in tokenize(c.name)) for c in real}
