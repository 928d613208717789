"""Taggers on any text: offsets, scores, tag schemes, batches, threads and windows."""

from __future__ import annotations

import json
import math
import resource
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import ModelUnreadable
from adaptner.models import tagger as module
from adaptner.models.assessment import Assessment, Estimate
from adaptner.models.mentions import mentions_of
from adaptner.models.storage import MANIFEST
from adaptner.models.tagger import BATCH_TOKENS, OVERLAP, WINDOW, Tagger
from adaptner.nn.decoders.calibration import Calibration
from adaptner.nn.decoders.crf import CRF
from adaptner.text.schemes import Scheme, from_bio, repair_tags, to_bio
from adaptner.text.tokenizer import tokenize
from adaptner.types import Document, Entity, LabelSet, Sentence

TEST = bundled_corpus("species").split("test")
HALF = (math.log(0.5),) * 3


def with_random_decoder(tagger: Tagger, labels: LabelSet) -> Tagger:
    """The same encoder with a random decoder that finds entities in any text."""
    decoder = CRF(tagger.encoder.width, labels, torch.Generator().manual_seed(1))
    with torch.no_grad():
        decoder.weight *= 8
        decoder.bias[0, 0] -= 1
    return Tagger(tagger.encoder, decoder, tagger.batcher, "noise")


@pytest.fixture(scope="module")
def noisy(tagger: Tagger) -> Tagger:
    return with_random_decoder(tagger, LabelSet(("X", "Y")))


@pytest.fixture(scope="module")
def noisy_bioes(tagger: Tagger) -> Tagger:
    return with_random_decoder(tagger, LabelSet(("X", "Y"), "bioes"))


def entities_of(tagger: Tagger, sentence: Sentence, tags, confidence) -> list[Entity]:
    return [tagger._entity(sentence, m) for m in mentions_of(tags, confidence, tagger.labels)]


def spans(entities: list[Entity]) -> list[tuple[int, int, str]]:
    return [(e.start, e.end, e.label) for e in entities]


def assert_same(found: list[list[Entity]], expected: list[list[Entity]]) -> None:
    """The spans are equal; scores may differ in the last of their four digits through rounding."""
    assert [spans(x) for x in found] == [spans(x) for x in expected]
    for a, b in zip(chain(*found), chain(*expected), strict=True):
        assert a.score == pytest.approx(b.score, abs=2e-4)


def check_offsets(text: str, entities: list[Entity]) -> None:
    """Entities are in order, do not overlap, consist of whole tokens and have a probability as score."""
    tokens = tokenize(text)
    starts, ends = {a for a, _ in tokens}, {b for _, b in tokens}
    end_before = 0
    for entity in entities:
        assert end_before <= entity.start < entity.end <= len(text)
        assert entity.start in starts
        assert entity.end in ends
        assert 0 <= entity.score <= 1
        end_before = entity.end


# --- unusual texts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n\t \r\n", "\u2003\u00a0\u3000", "\x1c\x1d\x1e\x1f\x85", "\u2028\u2029"]
)
def test_blank_text_has_no_entities(noisy, text):
    assert noisy.predict([text]) == [[]]


def test_empty_input_gives_an_empty_list(noisy):
    assert noisy.predict([]) == noisy.predict(iter([])) == []
    assert noisy.predict_sentences([]) == noisy.predict_documents([]) == []


def test_blank_texts_among_others_keep_their_places(noisy):
    found = noisy.predict(["", "A mouse.", " ", "A rat ran.", "\n"])
    assert [bool(x) for x in found] == [False, True, False, True, False]
    assert_same(found[1:2], noisy.predict(["A mouse."]))


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01\x02 \x07\x1b[31mred\x1b[0m \x7f",
        "\ufeffGene \u200bname\u200d \ufffd \ufffe",
        "小鼠和大鼠的基因表达。人类细胞系也被研究。",
        "Мышь и крыса. Ген ФНО-α повышен.",
        "الفأر والجرذ في التجربة. تم قياس الجين.",
        "चूहा और मनुष्य। जीन अभिव्यक्ति.",
        "👩‍🔬 tested 🐁🐀 with 🧬! e\u0301tude nai\u0308ve",
        "\U0010ffff\U000e0001 \ud800 lone",
        "a" * 5000,
        "." * 5000,
        "((((" * 500 + "))))" * 500,
        "x\u0301\u0302\u0303" * 50,
    ],
)
def test_offsets_in_other_scripts_and_control_characters(noisy, text):
    (found,) = noisy.predict([text])
    check_offsets(text, found)
    assert found


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_offsets_in_any_text(noisy, texts):
    found = noisy.predict(texts)
    assert len(found) == len(texts)
    for text, entities in zip(texts, found, strict=True):
        check_offsets(text, entities)


GAPS = [" ", "\n", "  ", "\n\n", "\t", "\r\n", "\u00a0", " \n \n\t ", "\u2003", "\u2028"]


def test_sentences_of_a_document_have_the_mentions_they_have_alone(tagger):
    alone = tagger.predict([s.text for s in TEST])
    mentions = [[s.text[e.start : e.end] for e in x] for s, x in zip(TEST, alone, strict=True)]
    assert sum(map(len, mentions)) > 40
    for gap in GAPS:
        text = gap + gap.join(s.text for s in TEST) + gap
        (found,) = tagger.predict([text])
        check_offsets(text, found)
        if gap.count("\n") > 1:  # a blank line ends a sentence
            assert [text[e.start : e.end] for e in found] == list(chain(*mentions))
        else:
            assert len(found) > 20


def test_white_space_inside_a_mention_does_not_change_it(tagger):
    sentences = [s for s in TEST if any(" " in s.text[e.start : e.end] for e in s.entities)][:10]
    assert sentences
    for sentence in sentences:
        texts = [gap.join(sentence.tokens) for gap in ("  \t ", " ")]
        wide, narrow = (
            [text[e.start : e.end].split() for e in found]
            for text, found in zip(texts, tagger.predict(texts), strict=True)
        )
        assert wide == narrow


def test_entities_consist_of_the_given_tokens_of_a_document(noisy):
    text = "IL-2 and TNF-alpha."
    token_spans = ((0, 4), (5, 8), (9, 19))
    (found,) = noisy.predict_documents([Document(text, token_spans=token_spans)])
    assert found
    assert {e.start for e in found} <= {a for a, _ in token_spans}
    assert {e.end for e in found} <= {b for _, b in token_spans}


def test_gold_entities_of_a_document_are_ignored(noisy):
    text = "A mouse. The rat ran. B cells."
    labelled = Document(text, (Entity(2, 16, "Z"),))  # across a sentence end
    assert noisy.predict_documents([labelled]) == noisy.predict([text])


# --- scores ---------------------------------------------------------------------------------------


def recalibrated(tagger: Tagger, facts: dict | None = None) -> Tagger:
    """The same tagger with another calibration."""
    calibration = Calibration(slope=0.5, intercept=-1)
    return Tagger(
        tagger.encoder, tagger.decoder, tagger.batcher, "x", facts or {}, calibration=calibration
    )


def test_score_is_the_calibrated_probability_of_the_whole_mention(tagger):
    """tests/nn/decoders/test_span_confidence.py defines the probability of a mention."""
    sentence = next(s for s in TEST if tagger.predict_sentences([s])[0])
    (found,), (mentions,) = tagger.predict_sentences([sentence]), tagger.mentions([sentence])
    batch = tagger.batcher([[sentence]])
    states = tagger.encoder(batch).detach()
    best = tagger.decoder.decode(states, batch.mask)
    begin, inside, end = tagger.decoder.path_confidence(
        tagger.decoder.tag_scores(states), batch.mask, best
    )[:, 0, 0]
    for entity, mention in zip(found, mentions, strict=True):
        log = begin[mention.first] + inside[mention.first : mention.end - 1].sum()
        log += end[mention.end - 1]
        assert entity.score == pytest.approx(float(log.exp()), abs=1e-4)
    calibrated = recalibrated(tagger).predict_sentences([sentence])[0]
    for entity, mention in zip(calibrated, mentions, strict=True):
        odds = math.log(entity.score / (1 - entity.score))
        assert odds == pytest.approx(0.5 * mention.log_odds - 1, abs=0.01)


def test_score_of_a_very_long_entity_is_finite(noisy):
    """Although a product of thousands of factors would underflow."""
    length = 5000
    sentence = Sentence.from_tokens(["x"] * length)
    tags = [1] + [2] * (length - 1)
    (mention,) = mentions_of(tags, [HALF] * length, noisy.labels)
    entity = noisy._entity(sentence, mention)
    assert (entity.start, entity.end) == (0, len(sentence.text))
    assert 0 <= entity.score < 1e-4


def test_calibration_and_assessment_are_saved_and_optional(noisy, tmp_path):
    """Older folders have neither; their scores are the probabilities of the model."""
    texts = [s.text for s in TEST[:10]]
    estimate = Estimate(0.5, 0.3, 0.7, 12)
    assessment = Assessment(estimate, {"X": estimate}, ("Y",))
    calibrated = recalibrated(noisy, {"estimate": assessment.as_json()})
    calibrated.save(tmp_path)
    loaded = Tagger.load(tmp_path)
    assert loaded.predict(texts) == calibrated.predict(texts)
    assert loaded.assessment == assessment
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    del manifest["calibration"], manifest["facts"]["estimate"]
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    older = Tagger.load(tmp_path)
    assert older.predict(texts) == noisy.predict(texts)
    assert older.assessment is None


def test_scores_are_different_probabilities(tagger, noisy):
    for model in (tagger, noisy):
        scores = [e.score for x in model.predict([s.text for s in TEST]) for e in x]
        assert all(0 <= s <= 1 for s in scores)
        assert len(set(scores)) > 10


# --- tag schemes ----------------------------------------------------------------------------------


@settings(max_examples=200)
@given(path=st.lists(st.integers(0, 8), max_size=12))
def test_ill_formed_paths_are_repaired_as_in_files(noisy, noisy_bioes, path):
    for model, scheme in ((noisy, Scheme.BIO), (noisy_bioes, Scheme.BIOES)):
        tags = [t % len(model.labels.tags) for t in path]
        sentence = Sentence.from_tokens(["x"] * len(path))
        names = [model.labels.tags[t] for t in tags]
        found = entities_of(model, sentence, tags, [HALF] * len(path))
        assert spans(found) == spans(sentence.with_tags(to_bio(names, scheme)).entities)
        repaired = [model.labels.index[name] for name in repair_tags(names, scheme)[0]]
        assert entities_of(model, sentence, repaired, [HALF] * len(path)) == found


def test_entities_of_a_bioes_tagger_have_the_decoded_tags(noisy_bioes):
    sentences = [Sentence(s.text, s.token_spans) for s in TEST[:40]]
    prefixes = set()
    for sentence, found in zip(sentences, noisy_bioes.predict_sentences(sentences), strict=True):
        ((decoded, _),) = noisy_bioes._tag([sentence])
        labelled = Sentence(sentence.text, sentence.token_spans, tuple(found))
        assert noisy_bioes.labels.tag_ids(labelled) == decoded
        check_offsets(sentence.text, found)
        prefixes |= {tag[0] for tag in from_bio(labelled.tags, Scheme.BIOES)}
    assert prefixes >= set("BES")


def test_bioes_tagger_is_saved_with_its_scheme(noisy_bioes, tmp_path):
    texts = [s.text for s in TEST[:30]]
    noisy_bioes.save(tmp_path)
    loaded = Tagger.load(tmp_path)
    assert loaded.labels == LabelSet(("X", "Y"), "bioes")
    assert loaded.predict(texts) == noisy_bioes.predict(texts)


def test_scheme_is_bio_if_missing_and_refused_if_wrong(noisy, tmp_path):
    noisy.save(tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["domains"][0].pop("scheme") == "bio"
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    assert Tagger.load(tmp_path).labels == noisy.labels
    for scheme in ("bioes", "iob1"):  # has other weights; is unknown
        manifest["domains"][0]["scheme"] = scheme
        (tmp_path / MANIFEST).write_text(json.dumps(manifest))
        with pytest.raises(ModelUnreadable):
            Tagger.load(tmp_path)


# --- batches and threads --------------------------------------------------------------------------


def test_entities_do_not_depend_on_the_batch(tagger, noisy):
    texts = [s.text for s in TEST]
    texts += [" ".join(texts[:20]), "one", ""]
    for model in (tagger, noisy):
        together = model.predict(texts)
        assert model.predict(texts) == together
        assert_same(together, [model.predict([t])[0] for t in texts])
        assert_same(together, model.predict(texts[::-1])[::-1])


def test_batches_hold_at_most_the_maximum_of_tokens(noisy, monkeypatch):
    sizes = []
    real = Tagger._tag

    def recording(self, sentences, _):
        sizes.append(len(sentences) * max(map(len, sentences)))
        return real(self, sentences)

    monkeypatch.setattr(Tagger, "_tag", recording)
    noisy.predict_sentences([Sentence.from_tokens(["x"] * n) for n in (*range(1, 80), 700, 3000)])
    assert len(sizes) > 1
    assert max(sizes) <= BATCH_TOKENS


def test_threads_give_the_results_of_one(tagger):
    batcher = type(tagger.batcher)(tagger.batcher.vectors, tagger.batcher.alphabet)
    fresh = Tagger(tagger.encoder, tagger.decoder, batcher, "hgda")  # its word cache is empty
    jobs = [[s.text for s in TEST[i : i + 12]] for i in range(0, 60, 3)] * 3
    expected = [tagger.predict(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fresh.predict, jobs)) == expected


def test_prediction_does_not_change_the_model(tagger):
    before = {n: p.detach().clone() for n, p in tagger.named_parameters()}
    tagger.predict([s.text for s in TEST])
    assert all(p.grad is None for p in tagger.parameters())
    assert all(torch.equal(p, before[n]) for n, p in tagger.named_parameters())


# --- sentences longer than the window -------------------------------------------------------------


def by_windows(tagger: Tagger, sentence: Sentence) -> list[Entity]:
    """Entities from windows that are tagged separately. Of the tokens that two windows share, the first
    window decides the first half."""
    tags, confidence = [], []
    for first in range(0, max(1, len(sentence) - OVERLAP), WINDOW - OVERLAP):
        window = Sentence(sentence.text, sentence.token_spans[first : first + WINDOW])
        ((best, path_confidence),) = tagger._tag([window])
        begin = OVERLAP // 2 if first else 0
        last = first + WINDOW >= len(sentence)
        end = len(window) if last else WINDOW - OVERLAP // 2
        tags += best[begin:end]
        # a window without a mention has no confidences
        values = path_confidence[begin:end] if len(path_confidence) else [HALF] * (end - begin)
        confidence += list(values)
    assert len(tags) == len(sentence)
    return entities_of(tagger, sentence, tags, confidence)


def long_sentence(length: int) -> Sentence:
    tokens = [t for s in bundled_corpus("gene").split("train") + TEST for t in s.tokens]
    tokens = (tokens * (length // len(tokens) + 1))[:length]
    return Sentence.from_tokens(tokens)


@pytest.mark.slow
@pytest.mark.parametrize(
    "length",
    [
        WINDOW - 1,
        WINDOW,
        WINDOW + 1,
        WINDOW + OVERLAP // 2,
        2 * WINDOW - OVERLAP,
        2 * WINDOW - OVERLAP + 1,
        1000,
        3000,
    ],
)
def test_long_sentence_has_the_entities_of_its_windows(tagger, noisy, noisy_bioes, length):
    sentence = long_sentence(length)
    for model in (tagger, noisy, noisy_bioes):
        found = model.predict_sentences([sentence, Sentence.from_tokens(["short", "one"])])[0]
        assert len(found) > 10
        assert_same([found], [by_windows(model, sentence)])


@pytest.mark.parametrize("length", [513, 545, 800, 3000, 3001])
def test_every_token_of_a_long_sentence_is_tagged(noisy, monkeypatch, length):
    """Even where windows meet: each token is an entity."""

    def everything(self, sentences, _):
        return [([1] * len(s), [HALF] * len(s)) for s in sentences]

    monkeypatch.setattr(Tagger, "_tag", everything)
    sentence = long_sentence(length)
    (found,) = noisy.predict_sentences([sentence])
    assert [(e.start, e.end) for e in found] == list(sentence.token_spans)


def test_beginning_of_a_long_sentence_does_not_depend_on_the_rest(noisy):
    whole = long_sentence(3000)
    head = Sentence(whole.text, whole.token_spans[:WINDOW])
    limit = whole.token_spans[WINDOW - OVERLAP][0]
    found, expected = noisy.predict_sentences([whole, head])
    cut = [[e for e in x if e.end < limit] for x in (found, expected)]
    assert len(cut[0]) > 50
    assert_same(cut[:1], cut[1:])


def test_long_sentence_does_not_change_short_ones(tagger):
    short = [Sentence(s.text, s.token_spans) for s in TEST[:10]]
    long = long_sentence(1500)
    mixed = tagger.predict_sentences([*short[:5], long, *short[5:]])
    assert_same(mixed[:5] + mixed[6:], tagger.predict_sentences(short))
    assert_same(mixed[5:6], tagger.predict_sentences([long]))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_length_of_a_sentence(tagger):
    """A hundred thousand tokens without a full stop."""
    words = [t for s in TEST for t in s.tokens if t not in ".?!"]
    text = " ".join((words * (100_000 // len(words) + 1))[:100_000])
    assert len(tokenize(text)) == 100_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (found,) = tagger.predict([text])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KB
    assert len(found) > 3000
    check_offsets(text, found)
    assert found[-1].end > 0.99 * len(text)


def test_windows_overlap_by_an_even_number_of_tokens():
    assert 0 < OVERLAP < WINDOW
    assert OVERLAP % 2 == 0
    assert list(module._windows(Sentence("", ()))) == []
