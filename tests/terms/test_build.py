import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terms_kit import (
    compiled,
    compiled_kinds,
    concept,
    entries_of,
    kind,
    kinds_of,
)

from adaptner.terms.build import compile_concepts
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.concepts import clean_name
from adaptner.terms.hashing import is_symbol, name_key
from adaptner.terms.matching import NameFinder

WORDS = ["asthma", "brain", "fevers", "IL", "2", "TNF", "p53", "(", ")", "alpha", "-", "of", "Abl"]


def random_names(rng, count):
    return sorted({" ".join(rng.choices(WORDS, k=rng.randint(1, 4))) for _ in range(count)})


@pytest.mark.parametrize("seed", range(5))
def test_kinds_and_ids_of_all_names_equal_a_dict_of_keys(seed):
    rng = random.Random(seed)
    concepts, expected = {"A": [], "B": []}, {}
    for source, listed in concepts.items():
        for number in range(40):
            names = random_names(rng, 3)
            listed.append(concept(f"{source}:{number:02}", *names))
            for name in names:
                key = name_key(name)
                if key is None or key.length < 2 or name.isdigit():
                    continue
                letters_and_digits = any(map(str.isdigit, name)) and any(map(str.isalpha, name))
                short_name = len(name) <= 3 and name[1:].islower()
                if is_symbol(name):
                    expected.setdefault(("symbol", key.symbol), []).append((source, number, name))
                if not is_symbol(name) or letters_and_digits or short_name:
                    expected.setdefault(("word", key.word), []).append((source, number, name))
    terms = compiled(concepts, kinds=[kind("A"), kind("B")])
    assert len(terms) == len(expected)
    for name in random_names(rng, 300):
        key = name_key(name)
        if key is None:
            continue
        keys = (("word", key.word), ("symbol", key.symbol))
        for entry, wanted in zip(entries_of(terms, name), keys, strict=True):
            having = expected.get(wanted)
            assert (entry >= 0) == (having is not None), name
            if having:
                assert kinds_of(terms, entry) == {source for source, _, _ in having}
                ids = terms.ids_of(entry)
                assert len(ids) == len(set(ids))
                every = {f"{source}:{number:02}" for source, number, _ in having}
                assert set(ids) <= every
                assert len(ids) == min(31, len(every))


def test_the_concept_that_prefers_a_name_comes_first():
    terms = compiled(
        {
            "A": [
                concept("A:1", "grey fever", "ague"),
                concept("A:2", "ague"),
                concept("A:3", "chill", "ague"),
            ]
        },
        kinds=[kind("A")],
    )
    entry, _ = entries_of(terms, "ague")
    assert terms.ids_of(entry) == ["A:2", "A:1", "A:3"]


def test_an_id_in_two_files_unites_their_kinds_and_is_listed_once():
    terms = compiled(
        {"A": [concept("X:1", "ague")], "B": [concept("X:1", "ague"), concept("X:2", "ague")]},
        kinds=[kind("A"), kind("B")],
    )
    entry, _ = entries_of(terms, "ague")
    assert kinds_of(terms, entry) == {"A", "B"}
    assert terms.ids_of(entry) == ["X:1", "X:2"]
    assert terms.ids_of(entry, ["A"]) == ["X:1"]
    assert terms.ids_of(entry, ["B", "unknown"]) == ["X:1", "X:2"]
    assert [terms.source_of(c) for c in terms.concepts_of(entry)] == ["A", "B", "B"]


def test_sources_of_concepts_are_known_though_some_files_give_none():
    names = {f"S{i}": [] if i % 3 == 0 else [f"name {i} {j}" for j in range(i)] for i in range(9)}
    terms = compiled(names, kinds=[kind(name) for name in names])
    for source, listed in names.items():
        for name in listed:
            (number,) = terms.concepts_of(entries_of(terms, name)[0])
            assert terms.source_of(number) == source


def test_a_cyclic_hierarchy_compiles_and_all_of_it_is_below_its_root():
    concepts = [
        concept("X:1", "first thing", parents=["X:3"]),
        concept("X:2", "second thing", parents=["X:1", "X:2"]),
        concept("X:3", "third thing", parents=["X:2"]),
        concept("X:4", "fourth thing", parents=["X:4"]),
    ]
    terms = compiled({"A": concepts}, kinds=[kind("K", "X:2")])
    for name in ("first thing", "second thing", "third thing"):
        assert kinds_of(terms, entries_of(terms, name)[0]) == {"K"}
    assert entries_of(terms, "fourth thing") == (-1, -1)


def test_concepts_without_a_kind_take_no_room():
    terms = compiled({"A": [f"thing {i}" for i in range(99)], "B": ["only one"]}, kinds=[kind("B")])
    assert (len(terms), terms.facts["concepts"]) == (1, 1)
    assert terms.ids_of(0) == ["B:0"]
    assert terms.source_of(0) == "B"


@pytest.mark.parametrize("name", ["x", "7", "123", "(", "…", "long " * 25 + "name", "a" * 201, "-"])
def test_names_that_text_can_never_match_are_left_out(name):
    assert len(compiled_kinds(K=[name, "asthma"])) == 1


def test_nothing_at_all_compiles_loads_and_finds_nothing(tmp_path):
    terms = compiled({}, kinds=[kind("K")])
    terms.save(tmp_path / "t")
    terms = CompiledTerms.load(tmp_path / "t")
    finder = NameFinder(terms)
    assert len(finder.find(finder.text([["some", "words"]]))) == 0


def test_related_only_if_no_source_calls_it_exact():
    terms = compiled(
        {
            "A": [
                concept("A:1", "ague", related=["chill", "cold"]),
                concept("A:2", "fever", "cold"),
            ]
        },
        kinds=[kind("A")],
    )
    related = {
        n: terms.marked(np.array([entries_of(terms, n)[0]]), 2)[0] for n in ("chill", "cold")
    }
    assert related == {"chill": True, "cold": False}


def test_breadth_is_the_logarithm_of_the_concepts_below():
    below = [concept(f"X:{i}", f"thing {i}", parents=["X:0"]) for i in range(1, 1001)]
    terms = compiled({"K": [concept("X:0", "the thing"), *below]}, kinds=[kind("K")])
    entry = entries_of(terms, "the thing")[0]
    assert terms.breadth(np.array([entry])).tolist() == [10]
    assert terms.breadth(np.array([entries_of(terms, "thing 5")[0]])).tolist() == [0]


def test_excluded_names_are_left_out_however_they_are_written():
    terms = compiled(
        {"K": ["IL-2", "WAS", "brain fever", "asthma"]},
        kinds=[kind("K")],
        exclude=["il 2", "IL2", "Brain Fevers"],
    )
    assert entries_of(terms, "IL-2") == entries_of(terms, "brain fever") == (-1, -1)
    assert entries_of(terms, "WAS")[1] >= 0 <= entries_of(terms, "asthma")[0]


def test_only_names_that_another_file_confirms_remain():
    sources = {
        "drugs": [concept("D:1", "aspirin", "Brandol"), "made up"],
        "mesh": [concept("M:1", "Aspirin")],
        "other": ["made up"],
    }
    kinds = [kind(name) for name in sources]
    terms = compiled(sources, kinds=kinds, confirmed_by={"drugs": ["mesh", "chebi"]})
    assert kinds_of(terms, entries_of(terms, "aspirin")[0]) == {"drugs", "mesh"}
    assert kinds_of(terms, entries_of(terms, "made up")[0]) == {"other"}
    assert entries_of(terms, "Brandol") == (-1, -1)
    nothing = compiled({"drugs": ["aspirin"]}, kinds=kinds, confirmed_by={"drugs": ["mesh"]})
    assert len(nothing) == 0


def test_names_of_each_kind_are_counted():
    terms = compiled_kinds(A=["ague", "chill", "brain fever"], B=["ague"], C=[])
    assert terms.facts["names"] == {"A": 3, "B": 1, "C": 0}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=30),
        min_size=1,
        max_size=20,
    )
)
def test_any_text_as_name_compiles_and_is_found_in_itself(names):
    terms = compile_concepts(
        [("K", [concept(f"K:{i}", n) for i, n in enumerate(names) if n.strip()])], [kind("K")]
    )
    for name in names:
        key = name_key(name)
        usable = key is not None and key.length >= 2 and key.tokens <= 24 and not name.isdigit()
        if usable and clean_name(name) == name and not name.endswith(")"):
            assert max(entries_of(terms, name)) >= 0
