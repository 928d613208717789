"""A tagger from label names alone: it finds what the dictionary finds, neither more nor less."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from terms_base_kit import NAMES, base_with_terms

from adaptner.adaptation.confidence.calibration import DICTIONARY_FILE, CalibrationConstants
from adaptner.adaptation.dictionary_tagger import dictionary_tagger
from adaptner.errors import ModelUnreadable, TermsNeeded, UnknownKind, UsageError
from adaptner.models.base import Base
from adaptner.models.tagger import WINDOW, Tagger
from adaptner.nn.model import TaggingModel
from adaptner.types import LabelSet, Sentence

LABELS = ("MedicalDevice", "Procedure", "CellLine")
WORDS = sorted({word for name in NAMES for word in name.split()})
RANDOM = st.lists(
    st.lists(
        st.sampled_from([*WORDS, *WORDS, "the", "of", "and", "(", ")", "x", "Hela"]), max_size=12
    ),
    max_size=6,
)


@pytest.fixture(scope="module", params=["bio", "bioes"])
def tagger(request: pytest.FixtureRequest, terms_base: Base) -> Tagger:
    labels = LabelSet(("Other",), request.param)
    model = TaggingModel(terms_base.model.encoder, {"other": labels}, torch.Generator())
    return dictionary_tagger(replace(terms_base, model=model), LABELS)


def found_by(tagger: Tagger, text: str) -> list[tuple[str, str]]:
    return [(e.text_in(text), e.label) for e in tagger.predict([text])[0]]


@given(RANDOM)
def test_tagger_finds_the_mentions_of_the_dictionary(tagger, random):
    sentences = [Sentence.from_tokens(tokens) for tokens in random]
    expected = [s.entities for s in tagger.features.tag(sentences)]
    found = tagger.predict_sentences(sentences)
    assert [[(e.start, e.end, e.label) for e in own] for own in found] == [
        [(e.start, e.end, e.label) for e in own] for own in expected
    ]


def test_mentions_in_long_sentences_are_those_of_the_dictionary(tagger):
    words = ["artificial", "heart", "valve", "and", "K562", "x"] * (WINDOW // 2)
    sentence = Sentence.from_tokens(words)
    (expected,) = tagger.features.tag([sentence])
    (found,) = tagger.predict_sentences([sentence])
    assert [(e.start, e.end, e.label) for e in found] == [
        (e.start, e.end, e.label) for e in expected.entities
    ]


def test_labels_mean_the_kinds_with_their_names(terms_base):
    tagger = dictionary_tagger(terms_base, ["MedicalDevice", "cell line"])
    text = "HeLa and a heart valve after surgery"
    assert found_by(tagger, text) == [("HeLa", "cell line"), ("heart valve", "MedicalDevice")]
    assert tagger.facts["terms"] == {"MedicalDevice": ["Device"], "cell line": ["CellLine"]}


def test_longer_mention_wins_then_the_label_named_first(terms_base):
    text = "artificial heart valve, laser ablation, stent"
    both = [
        ("artificial heart valve", "MedicalDevice"),
        ("laser ablation", "Procedure"),
        ("stent", "MedicalDevice"),
    ]
    assert found_by(dictionary_tagger(terms_base, ["MedicalDevice", "Procedure"]), text) == both
    assert found_by(dictionary_tagger(terms_base, ["Procedure", "MedicalDevice"]), text) == both
    for first, second in (("DEVI", "MedicalDevice"), ("MedicalDevice", "DEVI")):
        tagger = dictionary_tagger(terms_base, [first, second])
        assert {label for _, label in found_by(tagger, text)} == {first}


def test_scores_are_three_quarters_unless_the_base_has_constants(terms_base, tmp_path):
    (entity,) = dictionary_tagger(terms_base, ["MedicalDevice"]).predict(["A stent"])[0]
    assert entity.score == 0.75
    own = base_with_terms(terms_base, tmp_path / "base")
    constants = CalibrationConstants(scores=(0.0, 0.0, 0.0, 0.0)).model_dump_json()
    (own.folder / DICTIONARY_FILE).write_text(constants)
    (entity,) = dictionary_tagger(own, ["MedicalDevice"]).predict(["A stent"])[0]
    assert entity.score == 0.5
    (own.folder / DICTIONARY_FILE).write_text("{")
    with pytest.raises(ModelUnreadable, match=DICTIONARY_FILE):
        dictionary_tagger(own, ["MedicalDevice"])


def test_saved_tagger_finds_the_same(tagger, tmp_path):
    texts = ["Laser ablation of K-562 cells.", "", "A heart valve: no stent."]
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.predict(texts) == tagger.predict(texts)
    assert loaded.predict(texts)[0]
    assert loaded.method == "dictionary"


def test_saved_tagger_keeps_the_order_of_its_labels(terms_base, tmp_path):
    dictionary_tagger(terms_base, ["DEVI", "MedicalDevice"]).save(tmp_path / "model")
    assert found_by(Tagger.load(tmp_path / "model"), "A stent") == [("stent", "DEVI")]


@pytest.mark.parametrize(
    ("labels", "error", "says"),
    [
        (["MedicalDevice", "Procedur"], UnknownKind, "'Procedur'.*procedure"),
        (["Quark"], UnknownKind, "'Quark'"),
        ([], UsageError, "no name"),
        (["MedicalDevice", " "], UsageError, "no name"),
    ],
)
def test_labels_that_terminologies_do_not_know_are_refused(terms_base, labels, error, says):
    with pytest.raises(error, match=f"(?s){says}"):
        dictionary_tagger(terms_base, labels)


def test_base_without_terminologies_is_refused(base):
    with pytest.raises(TermsNeeded, match="MedicalDevice"):
        dictionary_tagger(base, ["MedicalDevice"])


def test_repeated_label_counts_once(terms_base):
    assert dictionary_tagger(terms_base, ["MedicalDevice", "MedicalDevice"]).labels.labels == (
        "MedicalDevice",
    )


def test_tagger_reads_no_state_of_the_encoder(terms_base, monkeypatch):
    tagger = dictionary_tagger(terms_base, ["MedicalDevice"])
    encoder = type(tagger.encoder)
    for name in ("forward", "linear_scores"):
        monkeypatch.setattr(encoder, name, lambda *_: pytest.fail("the encoder was used"))
    assert tagger.predict(["A stent"])[0]
