"""Labels that terminologies know: the fit starts as the dictionary, and stays there if it would lose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import equal_parameters, sentence
from hypothesis import given, settings
from hypothesis import strategies as st
from terms_base_kit import NAMES, base_with_terms

from adaptner.methods.named import algorithm
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.decoder_fit import penalties_of
from adaptner.methods.named.encoder_choice import MAX_FEW_SHOT, EncodedTarget, encode_target
from adaptner.methods.named.held_out import CrossValidation, validate
from adaptner.models.base import Base
from adaptner.models.mentions import HeldOutPredictions, PredictedMention
from adaptner.models.tagger import Tagger
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.encoders.config import EncoderConfig
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.model import TaggingModel
from adaptner.types import LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

CONFIG = LinearFitConfig()
SMALL = EncoderConfig(
    char_embedding=4, char_cnn_filters=4, char_lstm=0, hidden=4, lexical_features=True
)
FILLERS = ["the", "of", "grew", "in", "was", "seen", "old", "ward"]
WORDS = sorted({word for name in NAMES for word in name.split()} | set(FILLERS))
RANDOM = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), min_size=1, max_size=4)
DEVICE, LABELS = LabelSet(("MedicalDevice",)), LabelSet(("MedicalDevice", "Ward"))


def small_base(scheme: str) -> Base:
    words = sorted({word.lower() for word in WORDS})
    table = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    batcher = WordBatcher(WordVectors(tuple(words), table), "abcdefghijklmnopqrstuvwxyz")
    generator = torch.Generator().manual_seed(0)
    encoder = RecurrentEncoder(SMALL, batcher, generator)
    domains = {"other": LabelSet(("Other",), scheme)}
    return Base(TaggingModel(encoder, domains, generator), batcher, "named")


@pytest.fixture(scope="module", params=["bio", "bioes"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Base:
    folder = tmp_path_factory.mktemp(request.param) / "base"
    found = base_with_terms(small_base(request.param), folder)
    raw = [sentence("the stent was seen"), sentence("old ward")]
    return replace(found, raw_sentences=raw)


@pytest.fixture(scope="module")
def bio(tmp_path_factory: pytest.TempPathFactory) -> Base:
    found = base_with_terms(small_base("bio"), tmp_path_factory.mktemp("bio") / "base")
    return replace(found, raw_sentences=[sentence("the stent was seen"), sentence("old ward")])


@pytest.fixture(scope="module")
def plain(bio: Base) -> Base:
    """The same without terminologies."""
    return replace(bio, dictionary=None, raw_sentences=[])


AGREES = [  # with the dictionary
    sentence("the stent was seen", "O B-MedicalDevice O O"),
    sentence("in the old heart valve", "O O O B-MedicalDevice I-MedicalDevice"),
    sentence("the needle grew", "O B-MedicalDevice O"),
]
DENIES = [  # what the dictionary says of needles and stents
    sentence("old needle grew", "O O O"),
    sentence("the needle was seen", "O O O O"),
    sentence("a needle in the old ward", "O O O O O B-MedicalDevice"),
    sentence("the stent of the ward", "O O O O B-MedicalDevice"),
    sentence("seen in the ward", "O O O B-MedicalDevice"),
    sentence("ward of old", "B-MedicalDevice O O"),
]


def spans(tagger: Tagger, tokens: str) -> list[tuple[str, str]]:
    given_ = Sentence.from_tokens(tokens.split())
    (found,) = tagger.predict_sentences([given_])
    return [(e.text_in(given_.text), e.label) for e in found]


@pytest.fixture(scope="module")
def start(base: Base) -> Tagger:
    """With the decoder before the fit."""
    labels = LabelSet(("MedicalDevice", "Procedure"))
    encoded = EncodedTarget.of(base, AGREES[:1], CONFIG, labels)
    assert encoded.starts_as_dictionary
    assert encoded.target.labels.scheme == base.labels.scheme
    return encoded.tagger(encoded.prior(CONFIG), {})


@settings(max_examples=15)
@given(random=RANDOM)
def test_start_finds_the_mentions_of_the_dictionary(start, random):
    sentences = [Sentence.from_tokens(tokens) for tokens in random]
    expected = [s.entities for s in start.features.tag(sentences)]
    found = start.predict_sentences(sentences)
    assert [[(e.start, e.end, e.label) for e in own] for own in found] == [
        [(e.start, e.end, e.label) for e in own] for own in expected
    ]


def test_penalties_hold_labels_of_terminologies_firmly_and_others_as_without(bio, plain):
    encoded = EncodedTarget.of(bio, AGREES, CONFIG, LABELS)
    found = penalties_of(encoded, CONFIG)
    without = penalties_of(EncodedTarget.of(plain, AGREES, CONFIG, LABELS), CONFIG)
    width = bio.model.encoder.width
    assert without["weight"].shape[1] == width
    for place, tag in enumerate(encoded.target.labels.tags):
        if tag.endswith("MedicalDevice"):
            assert (found["weight"][place, :width] == CONFIG.firm_penalty).all()
            assert found["start"][place] == found["end"][place] == CONFIG.firm_transition_penalty
            assert (found["transition"][:, place] == CONFIG.firm_transition_penalty).all()
        else:  # O too: the other label learns against it
            np.testing.assert_array_equal(found["weight"][place, :width], without["weight"][place])
            for name in ("start", "end", "bias"):
                assert found[name][place] == without[name][place]
        assert (found["weight"][place, width:] == CONFIG.term_penalty).all()
    alone = penalties_of(EncodedTarget.of(bio, AGREES, CONFIG, DEVICE), CONFIG)
    assert (alone["weight"][:, :width] == CONFIG.firm_penalty).all()


def test_label_that_no_terminology_knows_learns_beside_one_that_is_known(bio):
    support = [
        sentence("the stent in the ward", "O B-MedicalDevice O O B-Ward"),
        sentence("old ward of the needle", "O B-Ward O O B-MedicalDevice"),
        sentence("ward grew", "B-Ward O"),
        sentence("the old ward", "O O B-Ward"),
    ] * 3
    encoded = encode_target(bio, support, CONFIG)
    assert not encoded.starts_as_dictionary
    assert not encoded.raw(CONFIG)  # they say nothing of wards
    tagger = adapt_named(encoded, CONFIG)
    assert spans(tagger, "the old ward of the stent") == [
        ("ward", "Ward"),
        ("stent", "MedicalDevice"),
    ]
    assert tagger.facts["terms"] == {"MedicalDevice": ["Device"]}


def test_raw_sentences_have_the_tags_of_the_dictionary_and_little_weight(bio):
    encoded = EncodedTarget.of(bio, AGREES, CONFIG)
    (raw,) = encoded.raw(CONFIG)
    assert raw.tags[0, :, :4].tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert raw.weights.tolist() == [[pytest.approx(CONFIG.raw_weight)] * 2]
    assert not encoded.raw(CONFIG.model_copy(update={"raw_weight": 0}))


def test_settings_can_leave_terminologies_out(bio, plain):
    config = LinearFitConfig(use_terms=False)
    found = adapt_named(EncodedTarget.of(bio, AGREES, config), config)
    expected = adapt_named(EncodedTarget.of(plain, AGREES, CONFIG), CONFIG)
    assert found.features is None
    assert equal_parameters(found.decoder, expected.decoder)


def predictions(right: int, wrong: int, missed: int) -> list[HeldOutPredictions]:
    found = [PredictedMention(i, i + 1, "MedicalDevice", 0.0) for i in range(right + wrong)]
    gold = {(i, i + 1, "MedicalDevice") for i in range(right)}
    gold |= {(100 + i, 101 + i, "MedicalDevice") for i in range(missed)}
    return [HeldOutPredictions(frozenset(gold), tuple(found))]


GOOD, BAD = predictions(3, 0, 1), predictions(2, 2, 2)


@pytest.mark.parametrize(
    ("fitted", "start", "stays"),
    [(BAD, GOOD, True), (GOOD, BAD, False), (GOOD, GOOD, False)],
    ids=["fit loses", "fit wins", "no difference"],
)
def test_dictionary_stays_if_the_fit_loses_in_cross_validation(
    bio, monkeypatch, fitted, start, stays
):
    encoded = EncodedTarget.of(bio, DENIES, CONFIG)
    found = CrossValidation(fitted, start)
    monkeypatch.setattr(algorithm, "validate", lambda *_, **__: found)
    tagger = adapt_named(encoded, CONFIG, seed=4)
    assert (tagger.facts["steps"] == 0) == stays
    assert tagger.facts["seed"] == 4
    assert equal_parameters(tagger.decoder, encoded.prior(CONFIG)) == stays
    assert found.of_tagger(encoded) == (start if stays else fitted)


def test_fit_that_loses_stays_where_no_terminology_knows_a_label(bio):
    encoded = EncodedTarget.of(bio, AGREES, CONFIG, LABELS)
    assert CrossValidation(BAD, GOOD).of_tagger(encoded) is BAD


def test_equal_sentences_leave_the_dictionary_as_it_is(bio):
    encoded = EncodedTarget.of(bio, AGREES[:1] * 3, CONFIG)
    assert validate(encoded, CONFIG) is None
    assert adapt_named(encoded, CONFIG).facts["steps"] == 0


def test_cross_validation_is_made_once_for_each_seed(bio):
    encoded = EncodedTarget.of(bio, AGREES, CONFIG)
    found = validate(encoded, CONFIG, seed=1)
    assert found is not None
    assert validate(encoded, CONFIG, seed=1) is found
    assert validate(encoded, CONFIG, seed=2) is not found
    gold = {(e.start, e.end) for s in AGREES for e in s.entities}
    assert sum(len(own.gold) for own in found.start) == len(gold)
    assert [len(own.found) for own in found.start] == [1, 1, 1]  # what the dictionary finds


def test_sentences_teach_what_the_dictionary_does_not_say(bio):
    """Needles are no devices here, wards are."""
    config = LinearFitConfig(term_penalty=0.01, firm_penalty=0.01, raw_weight=0)
    tagger = adapt_named(EncodedTarget.of(bio, DENIES * 3, config), config)
    assert tagger.facts["steps"] > 0
    assert spans(tagger, "the old needle of the ward") == [("ward", "MedicalDevice")]


def test_more_than_300_sentences_fit_the_decoder_alone(bio):
    support = [
        sentence(f"the needle {WORDS[i % len(WORDS)]}", "O B-MedicalDevice O") for i in range(301)
    ]
    encoded = EncodedTarget.of(bio, support, CONFIG)
    assert len(support) > MAX_FEW_SHOT
    assert encoded.encoded.states.shape[1] == 301
    assert validate(encoded, CONFIG) is None
    tagger = adapt_named(encoded, LinearFitConfig(linear_steps=2))
    assert tagger.encoder is bio.model.encoder
    assert 0 < tagger.facts["steps"] <= 2
    assert tagger.features is not None


def test_saved_tagger_finds_the_same(bio, tmp_path):
    tagger = adapt_named(EncodedTarget.of(bio, AGREES, CONFIG), CONFIG)
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    text = "The stent and an artificial heart valve, seen in the ward."
    assert loaded.predict([text]) == tagger.predict([text])
    assert [e.text_in(text) for e in loaded.predict([text])[0]] == [
        "stent",
        "artificial heart valve",
    ]


def test_base_keeps_terminologies_and_raw_sentences(bio, tmp_path):
    bio.save(tmp_path / "again")
    loaded = Base.load(tmp_path / "again")
    assert loaded.dictionary is not None
    assert bio.dictionary is not None
    assert loaded.dictionary.terms.checksum == bio.dictionary.terms.checksum
    assert [s.text for s in loaded.raw_sentences] == [s.text for s in bio.raw_sentences]
    assert [s.tokens for s in loaded.raw_sentences] == [s.tokens for s in bio.raw_sentences]
    assert Path(tmp_path / "again" / "terms.bin").is_file()
