"""What a decoder reads of terminologies, against a look at every span."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terms_kit import compiled_kinds, concept, kinds_of

from adaptner.terms.dictionary import Dictionary, without_overlaps
from adaptner.terms.doubts import Doubt
from adaptner.terms.features import ALONE, BEGINS, ENDS, INSIDE, TermFeatures
from adaptner.terms.matches import Spans
from adaptner.types import Sentence

TERMS = compiled_kinds(
    Ailment=["heart valve failure", "AMS", "asthma", concept("A:9", "gout", related=["the stone"])],
    Gadget=["heart valve", "valve", "AMS", "stent"],
)
FEATURES = TermFeatures(Dictionary(TERMS), {"Illness": ("Ailment",), "Tool": ("Gadget",)})
WORDS = ["heart", "valve", "failure", "AMS", "ams", "asthma", "gout", "stone", "stent", "of", "("]
SENTENCES = st.lists(st.lists(st.sampled_from([*WORDS, ")"]), max_size=8), max_size=5)
Span = tuple[int, int, int]  # sentence, first token, end


def spans_of(features: TermFeatures, sentences: Sequence[Sequence[str]], label: str) -> dict:
    """The proposed spans of one label, one kind after another: doubts and entry."""
    dictionary = features.dictionary
    found = {}
    for number, tokens in enumerate(sentences):
        matches = dictionary.matches([tokens])
        for kind in features.kinds[label]:
            spans = dictionary.propose(matches, [kind])[kind]
            for row in range(len(spans)):
                span = (number, int(spans.start[row]) - 1, int(spans.end[row]) - 1)
                found[kind, span] = int(spans.doubts[row]), int(spans.entry[row])
    return found


def chosen(features: TermFeatures, sentences: Sequence[Sequence[str]]) -> dict[Span, str]:
    """The mentions: all free of doubts, longest first, then first label, until none fits any more."""
    free = [
        (span, label)
        for label in features.kinds
        for (_, span), (doubts, _) in spans_of(features, sentences, label).items()
        if not Doubt(doubts) & ~(Doubt.RELATED | Doubt.DEFINED)
    ]
    free.sort(key=lambda pair: (pair[0][1] - pair[0][2], pair[0]))
    taken: dict[Span, str] = {}
    for (number, first, end), label in free:
        if not any(n == number and a < end and first < b for n, a, b in taken):
            taken[number, first, end] = label
    return taken


@settings(max_examples=8)
@given(SENTENCES)
def test_columns_are_those_of_every_span(sentences):
    expected = [np.zeros((len(s), FEATURES.width)) for s in sentences]
    mentions = chosen(FEATURES, sentences)
    names = [*TERMS.facts["kinds"], *TERMS.facts["attributes"]]

    def fill(span: Span, column: int) -> None:
        number, first, end = span
        expected[number][first, column] = 1
        expected[number][first + 1 : end, column + 1] = 1

    for (number, first, end), label in mentions.items():
        own, table = FEATURES.columns(label).start, expected[number]
        fill((number, first, end), own + BEGINS)
        table[end - 1, own + (ENDS if end - first > 1 else ALONE)] = 1
        if end < len(table):
            table[end, own + 6] = 1
        if first:
            table[first - 1, own + 7] = 1
    for label in FEATURES.kinds:
        own = FEATURES.columns(label).start
        for (_, span), (doubts, entry) in spans_of(FEATURES, sentences, label).items():
            fill(span, own + 4)
            for place, doubt in enumerate(FEATURES.doubts):
                if doubts & doubt:
                    fill(span, own + 8 + 2 * place)
            for name in kinds_of(TERMS, entry) if entry >= 0 else ():
                fill(span, own + 8 + 2 * (len(FEATURES.doubts) + names.index(name)))
    found = FEATURES.of(sentences)
    assert len(found) == len(sentences)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=8)
@given(SENTENCES)
def test_tagged_sentences_have_the_chosen_mentions(sentences):
    tagged = FEATURES.tag([Sentence.from_tokens(tokens) for tokens in sentences])
    expected = [["O"] * len(tokens) for tokens in sentences]
    for (number, first, end), label in chosen(FEATURES, sentences).items():
        expected[number][first:end] = [f"B-{label}", *[f"I-{label}"] * (end - first - 1)]
    assert [list(s.tags) for s in tagged] == expected


def test_longer_mention_wins_over_a_shorter_one_of_another_label():
    (tagged,) = FEATURES.tag([Sentence.from_tokens("a heart valve failure valve".split())])
    assert tagged.tags == ("O", "B-Illness", "I-Illness", "I-Illness", "B-Tool")


def test_label_of_several_kinds_has_the_mentions_of_each():
    both = TermFeatures(Dictionary(TERMS), {"Thing": ("Ailment", "Gadget")})
    (tagged,) = both.tag([Sentence.from_tokens(["stent", "asthma", "valve", "heart"])])
    assert tagged.tags == ("B-Thing", "B-Thing", "B-Thing", "O")


def test_nothing_is_read_of_no_sentences_and_of_empty_ones():
    assert FEATURES.of([]) == []
    assert FEATURES.tag([]) == []
    assert [len(table) for table in FEATURES.of([[], ["stent"], []])] == [0, 1, 0]


def test_definitions_are_carried_within_documents():
    sentences = ["heart valve failure ( HVF ) .".split(), ["HVF"]]
    first = FEATURES.columns("Illness").start
    assert FEATURES.of(sentences, [3, 3])[1][0, first + BEGINS] == 1
    assert FEATURES.of(sentences, [3, 4])[1][0, first + BEGINS] == 0
    assert FEATURES.of(sentences)[1][0, first + BEGINS] == 0


def test_features_of_fewer_doubts_lack_the_columns_of_the_others():
    short = FEATURES.doubts.index(Doubt.SHORT)
    few = TermFeatures(FEATURES.dictionary, FEATURES.kinds, ["SHORT"])
    assert few.width_of_label == FEATURES.width_of_label - 2 * (len(Doubt) - 1)
    (all_columns,), (columns,) = FEATURES.of([["AMS", "stent"]]), few.of([["AMS", "stent"]])
    for label in FEATURES.kinds:
        own, every = few.columns(label).start, FEATURES.columns(label).start
        assert columns[0, own + 8] == 1  # a symbol of three letters
        np.testing.assert_array_equal(columns[:, own : own + 8], all_columns[:, every : every + 8])
        np.testing.assert_array_equal(
            columns[:, own + 8 : own + 10],
            all_columns[:, every + 8 + 2 * short : every + 10 + 2 * short],
        )


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)), max_size=12))
def test_spans_without_overlaps_are_taken_longest_first(pairs):
    spans = Spans.of([a for a, _ in pairs], [a + n for a, n in pairs])
    kept: list[int] = []
    for row in sorted(range(len(pairs)), key=lambda i: (-pairs[i][1], pairs[i][0], i)):
        a, n = pairs[row]
        if not any(a < b + m and b < a + n for b, m in (pairs[k] for k in kept)):
            kept.append(row)
    kept.sort(key=lambda row: pairs[row][0])
    assert without_overlaps(spans).tolist() == kept


@pytest.mark.parametrize("label", ["Illness", "Tool"])
def test_columns_of_labels_do_not_overlap(label):
    other = ({*FEATURES.kinds} - {label}).pop()
    assert {*range(*FEATURES.columns(label).indices(FEATURES.width))}.isdisjoint(
        range(*FEATURES.columns(other).indices(FEATURES.width))
    )
    assert FEATURES.width == 2 * FEATURES.width_of_label
    assert INSIDE == BEGINS + 1
