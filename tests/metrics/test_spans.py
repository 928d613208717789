from __future__ import annotations

import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nervaluate import Evaluator
from seqeval.metrics import classification_report
from seqeval.metrics.sequence_labeling import get_entities

from adaptner.errors import UnknownTag, WordCountMismatch
from adaptner.metrics.spans import Score, correct_tokens, score_entities, score_tags, tag_spans
from adaptner.types import Entity, Sentence

ANY_TAG = st.sampled_from(["O", "O", *(f"{p}-{x}" for p in "BI" for x in ("Gene", "Drug", "Dis"))])
ANY_BIOES_TAG = st.sampled_from(["O", *(f"{p}-{x}" for p in "BIES" for x in ("Gene", "Drug"))])
STRUCTURE = settings(max_examples=100, deadline=None)


def repaired(tags: list[str]) -> list[str]:
    """Turns each I- tag that continues nothing into a B- tag."""
    well_formed: list[str] = []
    for tag in tags:
        previous = well_formed[-1] if well_formed else "O"
        if tag.startswith("I-") and previous[2:] != tag[2:]:
            tag = "B-" + tag[2:]
        well_formed.append(tag)
    return well_formed


@st.composite
def tagged_pairs(draw, tag=ANY_TAG):
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    corpus = [
        [draw(st.lists(tag, min_size=n, max_size=n)) for n in lengths]
        for _ in ("gold", "predicted")
    ]
    # Half of the predictions equal the gold tags, so that true positives are not rare.
    return corpus[0], [g if draw(st.booleans()) else p for g, p in zip(*corpus, strict=True)]


def assert_equals_seqeval(gold, predicted):
    found = score_tags(gold, predicted)
    assume(found.by_label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = classification_report(gold, predicted, output_dict=True, zero_division=0)
    labels = set(expected) - {"micro avg", "macro avg", "weighted avg"}
    assert set(found.by_label) == labels
    for name, score in [("micro avg", found.overall), *found.by_label.items()]:
        row = expected[name]
        assert score.gold == row["support"]
        assert (score.precision, score.recall, score.f1) == pytest.approx(
            (row["precision"], row["recall"], row["f1-score"]), abs=1e-12
        )


@STRUCTURE
@given(tagged_pairs())
def test_agrees_with_seqeval_on_any_bio_sequence(pair):
    assert_equals_seqeval(*pair)


@STRUCTURE
@given(tagged_pairs(ANY_BIOES_TAG))
def test_agrees_with_seqeval_on_any_bioes_sequence(pair):
    assert_equals_seqeval(*pair)


@STRUCTURE
@given(st.lists(ANY_BIOES_TAG, max_size=15))
def test_spans_equal_seqevals(tags):
    expected = {(start, end + 1, label) for label, start, end in get_entities(tags)}
    assert tag_spans(tags) == expected


@settings(max_examples=60, deadline=None)
@given(tagged_pairs())
def test_agrees_with_nervaluate_strict(pair):
    gold, predicted = ([repaired(tags) for tags in side] for side in pair)
    found = score_tags(gold, predicted)
    labels = sorted(found.by_label)
    assume(labels)
    results = Evaluator(gold, predicted, tags=labels, loader="list").evaluate()
    for expected, score in [
        (results["overall"]["strict"], found.overall),
        *((results["entities"][label]["strict"], found.by_label[label]) for label in labels),
    ]:
        assert expected.correct == score.true_positives
        assert expected.possible == score.gold
        assert expected.actual == score.predicted
        assert (expected.precision, expected.recall, expected.f1) == pytest.approx(
            (score.precision, score.recall, score.f1), abs=1e-12
        )


@STRUCTURE
@given(tagged_pairs())
def test_entities_and_tags_give_the_same_scores(pair):
    gold, predicted = (
        [Sentence.from_tokens(["w"] * len(tags), repaired(tags)) for tags in side] for side in pair
    )
    by_tags = score_tags([s.tags for s in gold], [s.tags for s in predicted])
    by_entities = score_entities([s.entities for s in gold], [s.entities for s in predicted])
    assert by_tags == by_entities


def test_scores_of_a_small_example():
    gold = [["B-Gene", "I-Gene", "O", "B-Drug"], ["O", "B-Gene", "O"]]
    predicted = [["B-Gene", "O", "O", "B-Drug"], ["B-Drug", "B-Gene", "O"]]
    scores = score_tags(gold, predicted)
    assert scores.overall == Score(true_positives=2, predicted=4, gold=3)
    assert scores.overall.precision == 0.5
    assert scores.overall.recall == pytest.approx(2 / 3)
    assert scores.overall.f1 == pytest.approx(4 / 7)
    assert scores.by_label == {"Drug": Score(1, 2, 1), "Gene": Score(1, 2, 2)}
    assert list(scores.by_label) == ["Drug", "Gene"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["I-A", "I-A"], {(0, 2, "A")}),
        (["B-A", "I-B"], {(0, 1, "A"), (1, 2, "B")}),
        (["B-A", "B-A", "I-A"], {(0, 1, "A"), (1, 3, "A")}),
        (["O", "I-A", "O", "I-A"], {(1, 2, "A"), (3, 4, "A")}),
        (["E-A", "E-A"], {(0, 1, "A"), (1, 2, "A")}),
        (["B", "I", "O", "B"], {(0, 2, "ENTITY"), (3, 4, "ENTITY")}),
        (["B-Gene-Product"], {(0, 1, "Gene-Product")}),
        ([], set()),
    ],
)
def test_ill_formed_sequences_have_the_entities_of_conlleval(tags, expected):
    assert tag_spans(tags) == expected


def test_entity_counts_only_if_type_and_borders_are_correct():
    gold = [[Entity(0, 4, "Gene")]]
    assert score_entities(gold, [[Entity(0, 4, "Drug")]]).overall == Score(0, 1, 1)
    assert score_entities(gold, [[Entity(0, 5, "Gene")]]).overall == Score(0, 1, 1)
    assert score_entities(gold, [[Entity(0, 4, "Gene", score=0.3)]]).overall == Score(1, 1, 1)


def test_repeated_prediction_counts_once():
    twice = [Entity(0, 4, "Gene", 0.9), Entity(0, 4, "Gene", 0.8)]
    assert score_entities([[Entity(0, 4, "Gene")]], [twice]).overall == Score(1, 1, 1)


def test_correct_tokens_ignore_borders():
    gold = Sentence.from_tokens(["a", "b", "c", "d", "e"], ["B-X", "I-X", "O", "B-Y", "B-X"])
    guess = gold.with_tags(["O", "B-X", "I-X", "B-X", "B-X"])  # one wrong border, one wrong label
    assert correct_tokens([gold, gold], [guess.entities, ()]) == {"X": 2}
    assert correct_tokens([gold], [gold.entities]) == {"X": 3, "Y": 1}
    with pytest.raises(WordCountMismatch):
        correct_tokens([gold], [])


def test_measures_without_entities_are_zero_and_scores_add_up():
    assert (Score().precision, Score().recall, Score().f1) == (0, 0, 0)
    assert Score(0, 0, 3).f1 == 0
    assert Score(1, 2, 3) + Score(1, 1, 1) == Score(2, 3, 4)
    assert score_tags([], []).overall == Score()


def test_different_lengths_raise():
    with pytest.raises(WordCountMismatch, match="document 2"):
        score_tags([["O"], ["O"]], [["O"]])
    with pytest.raises(WordCountMismatch, match="document 2: the gold side"):
        score_entities([[]], [[], []])
    with pytest.raises(WordCountMismatch, match="document 1: 2 gold tags, 1 predicted"):
        score_tags([["O", "O"]], [["O"]])


@pytest.mark.parametrize("tag", ["X-Gene", "", "Gene", "BGene", "o", "IO", "B-", "O-Gene"])
def test_unknown_tags_raise(tag):
    with pytest.raises(UnknownTag):
        score_tags([["O", tag]], [["O", "O"]])


def test_counts_of_many_sentences_add_up():
    gold = [["O"] * 10 + ["B-Gene", "I-Gene", "O", "B-Drug"] + ["O"] * 11] * 10_000
    predicted = [["O"] * 10 + ["B-Gene", "O", "O", "B-Drug"] + ["O"] * 11] * 10_000
    scores = score_tags(gold, predicted)
    assert scores.overall == Score(10_000, 20_000, 20_000)
