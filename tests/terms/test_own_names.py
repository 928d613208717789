import random

import numpy as np
import pytest
from terms_kit import compiled_kinds, concept

from adaptner.errors import OnlyDoubtfulNames
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.dictionary import Dictionary, overlapping
from adaptner.terms.features import TermFeatures
from adaptner.terms.hashing import mixed_word_keys, name_key
from adaptner.terms.matches import Spans
from adaptner.terms.own_names import compile_list
from adaptner.types import Sentence

LONG = 100_000  # names


def with_ordinary_words(terms, *words):
    keys = np.array([name_key(word).word for word in words], dtype=np.uint64)
    terms.arrays["ordinary_words"] = np.sort(mixed_word_keys(keys))
    return terms


@pytest.fixture
def base():
    return with_ordinary_words(
        compiled_kinds(Disease=["brain fever", "fever", "green ague"], Gene=["lacZ", "brain"]),
        "house",
        "the",
        "cat",
    )


def own(label, *names, base=None, **settings) -> CompiledTerms:
    concepts = [concept(f"L:{i}", name) for i, name in enumerate(names)]
    return compile_list(label, concepts, base, **settings).terms


def tagged(dictionary, kinds, text):
    (result,) = TermFeatures(dictionary, kinds).tag([Sentence.from_tokens(text.split())])
    return [(entity.text_in(result.text), entity.label) for entity in result.entities]


def test_names_that_cleaning_doubts_are_left_out_and_named(base):
    concepts = [
        concept("L:1", "brain fever", "Houses", "7", "B"),
        concept("L:2", "the house of usher"),
        concept("L:3", "x" * 300, "house fever"),
        concept("L:4", "1"),
    ]
    found = compile_list("Illness", concepts, base)
    assert found.dropped == (
        ("Houses", "an ordinary word"),
        ("7", "a number"),
        ("B", "a single character"),
        ("the house of usher", "text can never match it"),
        ("x" * 300, "text can never match it"),
        ("1", "a number"),
    )
    dictionary = Dictionary(base, {"Illness": found.terms})
    text = "houses 7 B brain fever 1 house fever"
    assert tagged(dictionary, {"Illness": ()}, text) == [
        ("brain fever", "Illness"),
        ("house fever", "Illness"),
    ]


def test_with_keep_all_only_what_text_can_never_match_is_left_out(base):
    concepts = [concept("L:1", "house", "7", "B", "of mice", "…")]
    found = compile_list("Thing", concepts, base, keep_all=True)
    assert [name for name, _ in found.dropped] == ["of mice", "…"]
    words = tagged(Dictionary(base, {"Thing": found.terms}), {"Thing": ()}, "House 7 b B of mice 8")
    assert [w for w, _ in words] == ["House", "7", "B"]


def test_symbols_are_not_dropped_because_a_word_is_ordinary(base):
    assert len(own("Gene", "CAT", base=base)) == 1
    with pytest.raises(OnlyDoubtfulNames, match="ordinary"):
        own("Gene", "Cat", base=base)


def test_names_are_taken_as_they_are(base):
    dictionary = Dictionary(base, {"X": own("X", "food (raw)")})
    assert tagged(dictionary, {"X": ()}, "food ( raw ) food") == [("food ( raw )", "X")]


def test_a_list_of_doubtful_names_alone_says_which_and_what_to_do(base):
    with pytest.raises(OnlyDoubtfulNames, match=r"'7' \(a number\)[^!]*--keep-all"):
        own("Thing", "7", "8", base=base)


def test_own_names_win_over_longer_names_of_the_base_and_of_other_labels(base):
    dictionary = Dictionary(base, {"Organ": own("Organ", "brain")})
    kinds = {"Organ": (), "Disease": ("Disease",), "Gene": ("Gene",)}
    assert tagged(dictionary, kinds, "brain fever and green ague") == [
        ("brain", "Organ"),
        ("green ague", "Disease"),
    ]


def test_of_overlapping_own_names_the_longer_wins(base):
    lists = {"A": own("A", "red"), "B": own("B", "red fever")}
    kinds = {"A": (), "B": (), "Disease": ("Disease",)}
    assert tagged(Dictionary(base, lists), kinds, "red fever red") == [
        ("red fever", "B"),
        ("red", "A"),
    ]


def test_own_names_are_proposed_without_a_doubt(base):
    features = TermFeatures(Dictionary(base, {"Organ": own("Organ", "toe")}), {"Organ": ()})
    spans, _ = features.spans([["a", "toe"]])
    assert spans.proposed[0].doubts.tolist() == [0]
    (table,) = features.of([["a", "toe"]])
    assert table[1].any()
    assert not table[0, :2].any()


def test_own_lists_leave_the_width_of_features_as_it_is(base):
    kinds = {"Disease": ("Disease",)}
    plain = TermFeatures(Dictionary(base), kinds)
    assert (
        TermFeatures(Dictionary(base, {"Disease": own("Disease", "toe")}), kinds).width
        == plain.width
    )


def test_excluded_names_are_not_proposed_but_longer_ones_are(base):
    dictionary = Dictionary(base, exclude=own("exclude", "fever", keep_all=True))
    assert tagged(dictionary, {"Disease": ("Disease",)}, "Fever or brain fever") == [
        ("brain fever", "Disease")
    ]


def test_lists_are_loaded_as_they_were_saved(base, tmp_path):
    terms = own("Organ", "toe", "big toe")
    (tmp_path / "own.bin").write_bytes(terms.content())
    loaded = CompiledTerms.load(tmp_path / "own.bin")
    assert tagged(Dictionary(base, {"Organ": loaded}), {"Organ": ()}, "my big toe") == [
        ("big toe", "Organ")
    ]
    assert loaded.facts["kinds"] == ["Organ"]


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_equals_sets_of_positions(seed):
    rng = random.Random(seed)

    def spans(count):
        starts = [rng.randrange(30) for _ in range(count)]
        return Spans.of(starts, [start + rng.randint(1, 4) for start in starts])

    ours, others = spans(40), spans(seed * 3)
    taken = {p for a, b in zip(others.start, others.end, strict=True) for p in range(a, b)}
    expected = [
        not taken.isdisjoint(range(a, b)) for a, b in zip(ours.start, ours.end, strict=True)
    ]
    assert overlapping(ours, others, 40).tolist() == expected


@pytest.mark.slow
def test_memory_of_a_long_list_is_a_kilobyte_a_name_at_most():
    import tracemalloc

    def concepts():
        for i in range(LONG):
            yield concept(f"L:{i}", f"thing {i}")

    tracemalloc.start()
    terms = compile_list("Thing", concepts()).terms
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1000 * LONG
    assert len(terms) == LONG
