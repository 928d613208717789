import numpy as np

from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.label_kinds import describe, kinds_of_label
from adaptner.terms.node_kinds import add_node_kinds
from tests.support.terms_kit import compiled, concept, entries_of, found

# Nodes with many names below them: "interferon" stands in two terminologies, "wugoid" is never written,
# "tool" is a word of general language, and "a lot of many words" is no name that anybody would ask for.
BELOW = {
    "interferon": 30,
    "interleukin": 41,
    "wugoid": 50,
    "tool": 60,
    "proteins found in many cells": 70,
}
CHEBI = [
    concept(f"CHEBI:{node}", node, f"{node} class", parents=["CHEBI:24431"]) for node in BELOW
] + [
    concept(
        f"CHEBI:{node}{i}",
        f"{node}ane{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10]}",
        parents=[f"CHEBI:{node}"],
    )
    for node, size in BELOW.items()
    for i in range(size)
]
MESH = [concept("MESH:D1", "Interferons", note="D12.1")] + [
    concept(f"MESH:D2{i}", f"mesh interferon {'abcdefghij'[i % 10]}x", note=f"D12.1.{i}")
    for i in range(10)
]
SOURCES = {"chebi": CHEBI, "mesh": MESH}


def names(concepts):
    return [name for c in concepts for name in c.names]


def with_nodes() -> CompiledTerms:
    counts = dict.fromkeys(names([*CHEBI, *MESH]), 5)
    counts |= dict.fromkeys(BELOW, 100) | {"wugoid": 3, "Interferons": 100}
    terms = compiled(SOURCES, {"field_alone": counts})
    tool, _ = entries_of(terms, "tool")
    assert tool >= 0
    from adaptner.terms.hashing import mixed_word_keys, name_key

    key = mixed_word_keys(np.array([name_key("tool").word], dtype=np.uint64))
    terms.arrays["ordinary_words"] = key
    return add_node_kinds(terms, SOURCES.items())


def node(terms, name):
    return next(kind for kind in terms.facts["node_kinds"] if kind["name"] == name)


def test_nodes_that_text_calls_so_and_that_have_dozens_of_names_become_kinds():
    terms = with_nodes()
    assert {kind["name"] for kind in terms.facts["node_kinds"]} == {"interferon", "interleukin"}


def test_nodes_of_the_same_name_in_several_terminologies_are_one_kind():
    terms = with_nodes()
    interferon = node(terms, "interferon")
    assert set(interferon["roots"]) == {"CHEBI:interferon", "MESH:D1"}
    assert describe(terms, ["interferon"]) == "Interferons (ChEBI, MeSH)"


def test_names_of_a_node_kind_are_those_at_its_roots_and_below():
    terms = with_nodes()
    for name in ("interferon", "interleukin"):
        has = terms.sets_with((name,))[terms.arrays["kind_set"]]
        roots = {"interferon": ["CHEBI:interferon", "MESH:D1", "MESH:D2"]}.get(
            name, [f"CHEBI:{name}"]
        )
        expected = {
            entry
            for c in [*CHEBI, *MESH]
            if c.id.startswith(tuple(roots))
            for known in c.names
            for entry in entries_of(terms, known)
            if entry >= 0
        }
        assert set(np.flatnonzero(has).tolist()) == expected


def test_kinds_that_were_written_down_stay_as_they_are():
    before, after = compiled(SOURCES), with_nodes()
    for kind in ("Chemical", "Gene", "chebi"):
        for name in names([*CHEBI, *MESH]):
            entry = max(entries_of(before, name))
            other = max(entries_of(after, name))
            bits = before.kinds_of(np.array([entry])) & before.mask_of([kind])
            assert bits.any() == after.sets_with((kind,))[after.arrays["kind_set"][other]]


def test_label_finds_a_node_kind_by_its_name_and_its_plural():
    terms = with_nodes()
    assert kinds_of_label(terms, "Interleukins") == ("interleukin",)
    assert kinds_of_label(terms, "Wugoid") == ()
    assert kinds_of_label(terms, "Drug") == ("Chemical",)


def test_node_kind_has_the_rules_of_the_kind_that_it_is_part_of():
    terms = with_nodes()
    assert node(terms, "interleukin")["like"] == "Chemical"
    sentence = "we gave interleukinaneak and tooalneak with interferonanebk ."
    assert found(terms, "interleukin", sentence) == ["interleukinaneak"]


def test_file_with_node_kinds_is_read_as_it_was_written(tmp_path):
    terms = with_nodes()
    terms.save(tmp_path / "terms.bin")
    loaded = CompiledTerms.load(tmp_path / "terms.bin")
    assert loaded.facts["node_kinds"] == terms.facts["node_kinds"]
    assert np.array_equal(loaded.arrays["kind_sets"], terms.arrays["kind_sets"])
