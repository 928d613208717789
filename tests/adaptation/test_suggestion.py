"""Suggested sentences: uncertain, new and dissimilar."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from adaptner import api
from adaptner.adaptation import suggestion as module
from adaptner.adaptation.suggestion import SEEN_WEIGHT, select_sentences
from adaptner.adaptation.uncertainty import token_entropies
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import UsageError
from adaptner.models.tagger import WINDOW
from adaptner.types import Sentence

POOL = [s.without_entities() for s in bundled_corpus("species").split("test")]


def sentence(text: str) -> Sentence:
    return Sentence.from_tokens(text.split())


@pytest.fixture
def entropy_in_word(monkeypatch):
    """The entropy of a word is the number in it: 3 nats for "x3"."""

    def entropies(tagger: object, sentences: Iterable[Sentence]):
        for one in sentences:
            yield one, [float(t[1:]) if t[1:].isdigit() else 0.0 for t in one.tokens]

    monkeypatch.setattr(module, "token_entropies", entropies)


def texts(found) -> list[str]:
    return [one.sentence.text for one in found]


def test_most_uncertain_sentence_comes_first(entropy_in_word, tagger):
    pool = [sentence(t) for t in ("a1 b1", "c5 d2", "e3", "f0 g0 h0")]
    found = select_sentences(tagger, pool, 3)
    assert texts(found) == ["c5 d2", "e3", "a1 b1"]
    assert [one.gain for one in found] == [7.0, 3.0, 2.0]


def test_words_seen_before_count_less(entropy_in_word, tagger):
    pool = [sentence(t) for t in ("a5 b4", "a5 c3 d0", "e4 f1")]
    assert texts(select_sentences(tagger, pool, 3)) == ["a5 b4", "e4 f1", "a5 c3 d0"]
    known = [sentence("some A5 and E4 here")]
    found = select_sentences(tagger, pool, 3, known)
    assert texts(found) == ["a5 b4", "a5 c3 d0", "e4 f1"]
    assert found[0].gain == pytest.approx(4 + SEEN_WEIGHT * 5)


def test_near_duplicates_are_left_out(entropy_in_word, tagger):
    pool = [sentence(t) for t in ("a9 b c d e", "a9 b c d f", "A9 B C D E", "g1 h i")]
    assert texts(select_sentences(tagger, pool, 4)) == ["a9 b c d e", "g1 h i"]
    assert texts(select_sentences(tagger, pool, 4, [sentence("a9 b c d x")])) == ["g1 h i"]
    assert select_sentences(tagger, [], 4) == []


def test_best_candidates_of_a_long_text_are_kept(entropy_in_word, tagger, monkeypatch):
    monkeypatch.setattr(module, "MAX_CANDIDATES", 5)
    pool = (sentence(f"w{i} u{i}") for i in range(300))
    assert texts(select_sentences(tagger, pool, 2)) == ["w299 u299", "w298 u298"]


def test_uncertainty_is_the_entropy_of_the_marginals(tagger):
    empty, overlong = Sentence("", ()), Sentence.from_tokens(["x"] * (WINDOW + 1))
    found = list(token_entropies(tagger, [*POOL, empty, overlong]))
    assert [s for s, _ in found] == POOL  # in order, without empty and overlong sentences
    one, nats = found[7]
    batch = tagger.batcher([[one]])
    marginals = tagger.decoder.marginals(tagger.encoder(batch).detach(), batch.mask)[0, 0].double()
    for token, value in enumerate(nats):
        expected = -sum(float(p) * float(p.log()) for p in marginals[token] if p > 0)
        assert value == pytest.approx(expected, abs=1e-4)


def test_suggest_reads_text_and_skips_labelled_sentences(tagger, tmp_path):
    (tmp_path / "some.txt").write_text("\n".join(s.text for s in POOL[:20]))
    found = api.suggest(tagger, tmp_path / "some.txt", 3, labelled=POOL[:2])
    assert len(found) == 3
    known = {s.text for s in POOL[:2]}
    assert not known & set(texts(found))
    for one in found:
        assert tuple(tagger.predict_sentences([one.sentence])[0]) == one.guesses
    assert texts(api.suggest(tagger, ["The mouse ran. A rat slept."], 5))
    with pytest.raises(UsageError):
        api.suggest(tagger, POOL, 0)
