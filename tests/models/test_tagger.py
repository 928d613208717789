"""A tagger on every kind of text: offsets, scores, batches, threads, windows."""

from __future__ import annotations

import json
import math
import resource
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
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


def under_noise(tagger: Tagger, labels: LabelSet) -> Tagger:
    """The same encoder under a decoder of noise, made eager: finds entities in anything."""
    decoder = CRF(tagger.encoder.width, labels, torch.Generator().manual_seed(1))
    with torch.no_grad():
        decoder.weight *= 8
        decoder.bias[0, 0] -= 1
    return Tagger(tagger.encoder, decoder, tagger.batcher, "noise")


@pytest.fixture(scope="module")
def noisy(tagger: Tagger) -> Tagger:
    return under_noise(tagger, LabelSet(("X", "Y")))


@pytest.fixture(scope="module")
def noisy_bioes(tagger: Tagger) -> Tagger:
    return under_noise(tagger, LabelSet(("X", "Y"), "bioes"))


def read(tagger: Tagger, sentence: Sentence, tags, sure) -> list[Entity]:
    """The entities of a path of tags."""
    return [tagger._entity(sentence, m) for m in mentions_of(tags, sure, tagger.labels)]


def spans(entities: list[Entity]) -> list[tuple[int, int, str]]:
    return [(e.start, e.end, e.label) for e in entities]


def alike(mine: list[list[Entity]], other: list[list[Entity]]) -> None:
    """Same spans; scores may differ in the last of their four digits, as sums of floats do."""
    assert [spans(x) for x in mine] == [spans(x) for x in other]
    for a, b in zip(chain(*mine), chain(*other), strict=True):
        assert a.score == pytest.approx(b.score, abs=2e-4)


def check_offsets(text: str, entities: list[Entity]) -> None:
    """Entities in order, apart, scored, and from the first to the last character of tokens."""
    tokens = tokenize(text)
    starts, ends = {a for a, _ in tokens}, {b for _, b in tokens}
    at = 0
    for entity in entities:
        assert at <= entity.start < entity.end <= len(text)
        assert entity.start in starts
        assert entity.end in ends
        assert 0 <= entity.score <= 1
        mention = text[entity.start : entity.end]
        assert mention == mention.strip()
        at = entity.end


# --- odd texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n\t \r\n", "\u2003\u00a0\u3000", "\x1c\x1d\x1e\x1f\x85", "\u2028\u2029"]
)
def test_nothing_to_find(noisy, text):
    assert noisy.predict([text]) == [[]]


def test_no_texts(noisy):
    assert noisy.predict([]) == []
    assert noisy.predict(iter([])) == []
    assert noisy.predict_sentences([]) == []
    assert noisy.predict_documents([]) == []


def test_nothing_between_something(noisy):
    texts = ["", "A mouse.", " ", "A rat ran.", "\n"]
    found = noisy.predict(texts)
    assert [bool(x) for x in found] == [False, True, False, True, False]
    alike(found[1:2], noisy.predict(["A mouse."]))


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
def test_other_scripts_and_control_characters(noisy, text):
    (found,) = noisy.predict([text])
    check_offsets(text, found)
    assert found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_offsets_in_any_text(noisy, texts):
    found = noisy.predict(texts)
    assert len(found) == len(texts)
    for text, entities in zip(texts, found, strict=True):
        check_offsets(text, entities)


GAPS = [" ", "\n", "  ", "\n\n", "\t", "\r\n", "\u00a0", " \n \n\t ", "\u2003", "\u2028"]


def test_offsets_in_documents_of_several_sentences_with_odd_white_space(tagger):
    """The mentions of each sentence, wherever the sentence stands and whatever parts it."""
    alone = tagger.predict([s.text for s in TEST])
    mentions = [[s.text[e.start : e.end] for e in x] for s, x in zip(TEST, alone, strict=True)]
    assert sum(map(len, mentions)) > 40
    for gap in GAPS:
        text = gap + gap.join(s.text for s in TEST) + gap
        (found,) = tagger.predict([text])
        check_offsets(text, found)
        if gap.count("\n") > 1:  # a blank line: sentences part
            assert [text[e.start : e.end] for e in found] == list(chain(*mentions))
        else:
            assert len(found) > 20


def test_white_space_inside_a_mention_is_part_of_it(tagger):
    """Tokens decide, not the gaps between them: same tokens, same entities."""
    sentences = [s for s in TEST if any(" " in s.text[e.start : e.end] for e in s.entities)][:10]
    assert sentences
    for sentence in sentences:
        stretched = "  \t ".join(sentence.tokens)
        (found,) = tagger.predict([stretched])
        (expected,) = tagger.predict([" ".join(sentence.tokens)])
        assert [stretched[e.start : e.end].split() for e in found] == [
            " ".join(sentence.tokens)[e.start : e.end].split() for e in expected
        ]


def test_the_tokens_of_a_document_are_kept(noisy):
    text = "IL-2 and TNF-alpha."
    spans_given = ((0, 4), (5, 8), (9, 19))
    (found,) = noisy.predict_documents([Document(text, token_spans=spans_given)])
    assert found
    assert {e.start for e in found} <= {a for a, _ in spans_given}
    assert {e.end for e in found} <= {b for _, b in spans_given}


def test_gold_entities_of_a_document_do_not_matter(noisy):
    text = "A mouse. The rat ran. B cells."
    labelled = Document(text, (Entity(2, 16, "Z"),))  # across a sentence end
    assert noisy.predict_documents([labelled]) == noisy.predict([text])


# --- scores ---------------------------------------------------------------------------------------


def test_a_score_is_the_calibrated_probability_of_the_whole_mention(tagger):
    """What a mention's probability is: tests/nn/decoders/test_span_confidence.py."""
    sentence = next(s for s in TEST if tagger.predict_sentences([s])[0])
    (found,), (mentions,) = tagger.predict_sentences([sentence]), tagger.mentions([sentence])
    batch = tagger.batcher([[sentence]])
    states = tagger.encoder(batch).detach()
    best = tagger.decoder.decode(states, batch.mask)
    right, on, stop = tagger.decoder.path_confidence(
        tagger.decoder.tag_scores(states), batch.mask, best
    )[:, 0, 0]
    for entity, mention in zip(found, mentions, strict=True):
        chance = right[mention.first] + on[mention.first : mention.end - 1].sum()
        chance = float((chance + stop[mention.end - 1]).exp())
        assert entity.score == pytest.approx(chance, abs=1e-4)
    doubtful = Tagger(
        tagger.encoder,
        tagger.decoder,
        tagger.batcher,
        "hgda",
        calibration=Calibration(slope=0.5, intercept=-1),
    )
    for entity, mention in zip(doubtful.predict_sentences([sentence])[0], mentions, strict=True):
        odds = math.log(entity.score / (1 - entity.score))
        assert odds == pytest.approx(0.5 * mention.log_odds - 1, abs=0.01)


def test_the_score_of_a_very_long_entity_is_a_number(noisy):
    """A product of thousands of factors underflows."""
    length = 5000
    sentence = Sentence.from_tokens(["x"] * length)
    tags = [1] + [2] * (length - 1)
    (mention,) = mentions_of(tags, [HALF] * length, noisy.labels)
    entity = noisy._entity(sentence, mention)
    assert (entity.start, entity.end) == (0, len(sentence.text))
    assert 0 <= entity.score < 1e-4


def test_scores_survive_saving_and_older_folders_have_the_models_own(noisy, tmp_path):
    texts = [s.text for s in TEST[:10]]
    doubtful = Tagger(
        noisy.encoder,
        noisy.decoder,
        noisy.batcher,
        "noise",
        {"estimate": assessment().as_json()},
        calibration=Calibration(slope=0.5, intercept=-1),
    )
    doubtful.save(tmp_path / "m")
    loaded = Tagger.load(tmp_path / "m")
    assert loaded.predict(texts) == doubtful.predict(texts)
    assert loaded.assessment == assessment()
    path = tmp_path / "m" / MANIFEST
    manifest = json.loads(path.read_text())
    del manifest["calibration"], manifest["facts"]["estimate"]
    path.write_text(json.dumps(manifest))
    older = Tagger.load(tmp_path / "m")
    assert older.predict(texts) == noisy.predict(texts)
    assert older.assessment is None


def assessment() -> Assessment:
    estimate = Estimate(0.5, 0.3, 0.7, 12)
    return Assessment(estimate, {"X": estimate}, ("Y",))


def test_scores_lie_between_0_and_1(tagger, noisy):
    for one in (tagger, noisy):
        scores = [e.score for x in one.predict([s.text for s in TEST]) for e in x]
        assert scores
        assert all(0 <= s <= 1 for s in scores)
        assert len(set(scores)) > 10


# --- tag schemes ----------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(path=st.lists(st.integers(0, 8), max_size=12))
def test_any_path_is_read_as_the_readers_of_files_do(noisy, noisy_bioes, path):
    for one, scheme in ((noisy, Scheme.BIO), (noisy_bioes, Scheme.BIOES)):
        tags = [t % len(one.labels.tags) for t in path]
        bare = Sentence.from_tokens(["x"] * len(path))
        names = [one.labels.tags[t] for t in tags]
        found = read(one, bare, tags, [HALF] * len(path))
        assert spans(found) == spans(bare.with_tags(to_bio(names, scheme)).entities)
        repaired = [one.labels.index[name] for name in repair_tags(names, scheme)[0]]
        assert read(one, bare, repaired, [HALF] * len(path)) == found


def test_a_bioes_tagger_reads_what_it_decodes(noisy_bioes):
    """Whole sentences are decoded well-formed; what the reading gives is written as decoded."""
    sentences = [Sentence(s.text, s.token_spans) for s in TEST[:40]]
    prefixes = set()
    for sentence, found in zip(sentences, noisy_bioes.predict_sentences(sentences), strict=True):
        ((decoded, _),) = noisy_bioes._tag([sentence])
        labelled = Sentence(sentence.text, sentence.token_spans, tuple(found))
        assert noisy_bioes.labels.tag_ids(labelled) == decoded
        check_offsets(sentence.text, found)
        prefixes |= {tag[0] for tag in from_bio(labelled.tags, Scheme.BIOES)}
    assert prefixes >= set("BES")


def test_a_bioes_tagger_comes_back_as_it_was(noisy_bioes, tmp_path):
    texts = [s.text for s in TEST[:30]]
    noisy_bioes.save(tmp_path / "m")
    loaded = Tagger.load(tmp_path / "m")
    assert loaded.labels == LabelSet(("X", "Y"), "bioes")
    assert loaded.predict(texts) == noisy_bioes.predict(texts)


def test_a_model_that_names_no_scheme_is_bio(noisy, tmp_path):
    noisy.save(tmp_path / "m")
    manifest = json.loads((tmp_path / "m" / MANIFEST).read_text())
    assert manifest["domains"][0].pop("scheme") == "bio"
    (tmp_path / "m" / MANIFEST).write_text(json.dumps(manifest))
    assert Tagger.load(tmp_path / "m").labels == noisy.labels


def test_a_scheme_nobody_knows_is_refused(noisy, tmp_path):
    noisy.save(tmp_path / "m")
    manifest = json.loads((tmp_path / "m" / MANIFEST).read_text())
    for scheme in ("bioes", "iob1"):  # the weights are of BIO; never heard of
        manifest["domains"][0]["scheme"] = scheme
        (tmp_path / "m" / MANIFEST).write_text(json.dumps(manifest))
        with pytest.raises(ModelUnreadable):
            Tagger.load(tmp_path / "m")


# --- batches and threads --------------------------------------------------------------------------


def test_what_else_is_in_the_batch_does_not_matter(tagger, noisy):
    texts = [s.text for s in TEST]
    texts += [" ".join(texts[:20]), "one", ""]
    for one in (tagger, noisy):
        together = one.predict(texts)
        alike(together, [one.predict([t])[0] for t in texts])
        alike(together, one.predict(texts[::-1])[::-1])


def test_same_call_same_answer(noisy):
    texts = [s.text for s in TEST]
    assert noisy.predict(texts) == noisy.predict(texts)


def test_batches_stay_within_their_bound(noisy, monkeypatch):
    sizes = []
    real = Tagger._tag

    def noting(self, sentences):
        sizes.append(len(sentences) * max(map(len, sentences)))
        return real(self, sentences)

    monkeypatch.setattr(Tagger, "_tag", noting)
    noisy.predict_sentences([Sentence.from_tokens(["x"] * n) for n in (*range(1, 80), 700, 3000)])
    assert len(sizes) > 1
    assert max(sizes) <= BATCH_TOKENS


def test_four_threads_give_the_same(tagger):
    fresh = Tagger(tagger.encoder, tagger.decoder, type(tagger.batcher)(
        tagger.batcher.vectors, tagger.batcher.alphabet
    ), "hgda")  # a batcher that has yet to fill its cache  # fmt: skip
    jobs = [[s.text for s in TEST[i : i + 12]] for i in range(0, 60, 3)] * 3
    expected = [tagger.predict(job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fresh.predict, jobs)) == expected


def test_prediction_leaves_no_trace(tagger):
    before = {n: p.detach().clone() for n, p in tagger.named_parameters()}
    tagger.predict([s.text for s in TEST])
    assert all(p.grad is None for p in tagger.parameters())
    assert all(torch.equal(p, before[n]) for n, p in tagger.named_parameters())


# --- sentences longer than the window -------------------------------------------------------------


def by_windows(tagger: Tagger, sentence: Sentence) -> list[Entity]:
    """The oracle: each window tagged by itself; of what two windows share, the first decides the
    first half and the second the second."""
    length, stride = len(sentence), WINDOW - OVERLAP
    tags, sure = [], []
    first = 0
    while True:
        part = Sentence(sentence.text, sentence.token_spans[first : first + WINDOW])
        ((best, known),) = tagger._tag([part])
        last = first + WINDOW >= length
        begin = OVERLAP // 2 if first else 0
        end = len(part) if last else WINDOW - OVERLAP // 2
        tags += best[begin:end]
        # (a window without a mention has nothing to be sure of)
        sure += (known[begin:end] if len(known) else np.zeros((end - begin, 3))).tolist()
        if last:
            break
        first += stride
    assert len(tags) == length
    return read(tagger, sentence, tags, sure)


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
def test_long_sentences_are_the_sum_of_their_windows(tagger, noisy, noisy_bioes, length):
    sentence = long_sentence(length)
    for one in (tagger, noisy, noisy_bioes):
        found = one.predict_sentences([sentence, Sentence.from_tokens(["short", "one"])])[0]
        assert len(found) > 10
        alike([found], [by_windows(one, sentence)])


@pytest.mark.parametrize("length", [513, 545, 800, 3000, 3001])
def test_every_token_of_a_long_sentence_is_tagged(noisy, monkeypatch, length):
    """A tagger that calls every token an entity loses none of them."""

    def everything(self, sentences):
        return [([1] * len(s), [HALF] * len(s)) for s in sentences]

    monkeypatch.setattr(Tagger, "_tag", everything)
    sentence = long_sentence(length)
    (found,) = noisy.predict_sentences([sentence])
    assert [(e.start, e.end) for e in found] == list(sentence.token_spans)


def test_the_beginning_of_a_long_text_is_tagged_as_ever(noisy):
    """What stands in the first window, away from its end, does not see the rest."""
    whole = long_sentence(3000)
    head = Sentence(whole.text, whole.token_spans[:WINDOW])
    limit = whole.token_spans[WINDOW - OVERLAP][0]
    found, expected = noisy.predict_sentences([whole, head])
    cut = [[e for e in x if e.end < limit] for x in (found, expected)]
    assert len(cut[0]) > 50
    alike(cut[:1], cut[1:])


def test_a_long_sentence_among_short_ones(tagger):
    short = [Sentence(s.text, s.token_spans) for s in TEST[:10]]
    long = long_sentence(1500)
    mixed = tagger.predict_sentences([*short[:5], long, *short[5:]])
    alike(mixed[:5] + mixed[6:], tagger.predict_sentences(short))
    alike(mixed[5:6], tagger.predict_sentences([long]))


@pytest.mark.slow
def test_a_hundred_thousand_tokens_without_a_full_stop(tagger):
    """Memory grows with the window instead of the text."""
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
