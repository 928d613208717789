"""Fine-tuning: the sentences that it accepts and what it trains."""

from __future__ import annotations

import pytest
import torch
from modules_kit import same

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import NoEntities, TooFewSentences, TrainingDiverged
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.decoders.crf import CRF
from adaptner.training.budget import Budget
from adaptner.training.optimiser import OptimiserConfig
from adaptner.types import LabelSet, Sentence

SHORT = FineTuneConfig(steps=3, epochs=0)
SPECIES = bundled_corpus("species").split("train")
BEARING = [s for s in SPECIES if s.entities]
BARE = [s for s in SPECIES if not s.entities]


# --- sentences and labels -------------------------------------------------------------------------


def test_several_labels_that_no_source_has_are_learnt(base, tagger):
    assert not {"Gene", "Species"} & {x for d in base.model.decoder for x in d.labels.labels}
    assert tagger.labels == LabelSet(("Gene", "Species"))
    for name in ("gene", "species"):
        seen = bundled_corpus(name).split("train")[:30]
        overall = score_entities([s.entities for s in seen], tagger.predict_sentences(seen)).overall
        assert overall.precision > 0.4, name
        assert overall.recall > 0.4, name  # of the training sentences


def test_one_sentence_is_learnt(base, quick):
    sentence = BEARING[0]
    tagger = fine_tune(base, [sentence], quick)
    (found,) = tagger.predict_sentences([sentence])
    assert [(e.start, e.end, e.label) for e in found] == [
        (e.start, e.end, e.label) for e in sentence.entities
    ]


def test_label_with_one_mention_is_learnt(base, quick):
    once = Sentence.from_tokens(["He", "flew", "to", "Oslo", "."], ["O", "O", "O", "B-Place", "O"])
    tagger = fine_tune(base, [*BEARING[:5], once], quick)
    assert tagger.labels == LabelSet(("Place", "Species"))
    assert [e.label for e in tagger.predict_sentences([once])[0]] == ["Place"]


def test_sentence_of_one_token_is_accepted(base):
    one = Sentence.from_tokens(["HeLa"], ["B-CellLine"])
    tagger = fine_tune(base, [one], SHORT)
    assert len(tagger.predict_sentences([one])) == 1


def test_repeated_sentences_count_as_often_as_given(base):
    assert fine_tune(base, [BEARING[0]] * 30, SHORT).facts["sentences"] == 30


def test_adjacent_entities_of_one_label_stay_separate(base, quick):
    tags = ["B-X", "B-X", "I-X", "O"]
    sentence = Sentence.from_tokens(["alpha", "beta", "gamma", "."], tags)
    tagger = fine_tune(base, [sentence], quick)
    assert [(e.start, e.end) for e in tagger.predict_sentences([sentence])[0]] == [(0, 5), (6, 16)]


def test_labels_may_look_like_tags_or_have_spaces(base):
    for label in ("B-cell", "I-x", "O", "rôle", "a b"):
        sentence = Sentence.from_tokens(["x", "y"], [f"B-{label}", "O"])
        assert fine_tune(base, [sentence], SHORT).labels.labels == (label,)


def test_sentences_without_entities_are_refused(base):
    with pytest.raises(NoEntities, match=f"none of the {len(BARE)} sentence"):
        fine_tune(base, BARE, SHORT)


@pytest.mark.parametrize("given", [[], [Sentence("", ())], [Sentence("  ", ())]])
def test_empty_data_is_refused(base, given):
    with pytest.raises(TooFewSentences):
        fine_tune(base, given, SHORT)


def test_given_labels_suffice_for_sentences_without_entities(base):
    labels = LabelSet(("Species", "Gene"))
    tagger = fine_tune(base, BARE[:5], SHORT, labels=labels)
    assert tagger.labels == labels
    assert len(tagger.predict(["A mouse ran."])) == 1


def test_given_labels_are_added_to_those_of_the_sentences(base):
    tagger = fine_tune(base, BEARING[:3], SHORT, labels=LabelSet(("Species", "Unseen")))
    assert tagger.labels == LabelSet(("Species", "Unseen"))


# --- training -------------------------------------------------------------------------------------


def test_earlier_use_of_a_base_changes_nothing(base, tmp_path):
    """The batcher caches words of earlier texts."""
    base.save(tmp_path)
    unused, used = Base.load(tmp_path), Base.load(tmp_path)
    others = bundled_corpus("gene").split("train")
    fine_tune(used, BEARING[30:10:-1], SHORT).predict_sentences([*others[:50], *BEARING[::-1]])
    first, second = (fine_tune(b, BEARING[:12], SHORT, seed=3) for b in (unused, used))
    assert same(first, second)


def test_encoder_and_decoder_change(base):
    start = CRF(base.model.encoder.width, LabelSet(("Species",)), torch.Generator().manual_seed(0))
    tagger = fine_tune(base, BEARING[:5], SHORT)
    learnt, given = tagger.encoder.parameters(), base.model.encoder.parameters()
    assert not any(torch.equal(p, q) for p, q in zip(learnt, given, strict=True))
    assert not torch.equal(tagger.decoder.weight, start.weight)


def test_tagger_has_no_auxiliary_head(base, tagger):
    assert base.model.head is not None
    assert {n.partition(".")[0] for n, _ in tagger.named_parameters()} == {"encoder", "decoder"}


@pytest.mark.parametrize("decoder", ["fresh", "mean"])
def test_frozen_decoder_keeps_its_start(base, decoder):
    frozen = FineTuneConfig(steps=5, decoder=decoder, freeze_decoder=True)
    learnt = fine_tune(base, BEARING[:5], frozen, seed=5)
    unmoved = fine_tune(base, BEARING[:5], frozen, seed=5, budget=Budget(0))
    assert same(learnt.decoder, unmoved.decoder)
    assert not same(learnt.encoder, unmoved.encoder)
    free = fine_tune(base, BEARING[:5], FineTuneConfig(steps=5, decoder=decoder), seed=5)
    assert not same(free.decoder, unmoved.decoder)


def test_steps_read_every_sentence_once_per_epoch(base, monkeypatch):
    """Five batches of 4 read 10 sentences twice."""
    seen: list[str] = []
    real = WordBatcher.__call__

    def noting(self, tasks, labels=None):
        seen.extend(s.text for s in tasks[0])
        return real(self, tasks, labels)

    monkeypatch.setattr(WordBatcher, "__call__", noting)
    fine_tune(base, BEARING[:10], FineTuneConfig(steps=5, epochs=0, batch=4))
    assert len(seen) == 20
    assert sorted(seen[:10]) == sorted(s.text for s in BEARING[:10])
    assert sorted(seen[10:]) == sorted(seen[:10])


def test_budget_in_seconds_ends_the_run(base):
    tagger = fine_tune(base, BEARING[:3], SHORT, budget=Budget(10**6, 0.3))
    assert 1 <= tagger.facts["steps"] < 10**5


def test_divergence_raises(base):
    wild = OptimiserConfig(name="sgd", rate=1e30, momentum=0.0)
    with pytest.raises(TrainingDiverged, match="nothing had been written"):
        fine_tune(base, BEARING[:5], FineTuneConfig(steps=30, optimiser=wild))


@pytest.mark.parametrize(("sentences", "steps"), [(1, 20), (5, 20), (20, 20), (21, 30), (50, 50)])
def test_default_steps_grow_with_the_sentences(sentences, steps):
    """At least 20 steps and ten epochs in batches of ten."""
    assert FineTuneConfig().steps_for(sentences) == steps


def test_encoder_has_a_tenth_of_the_rate(base):
    """AdamW's first step changes a parameter by its rate, whatever the gradient."""
    config = FineTuneConfig(optimiser=OptimiserConfig(name="adamw", rate=1e-3, weight_decay=0))
    before = {n: p.clone() for n, p in base.model.encoder.named_parameters()}
    tagger = fine_tune(base, BEARING[:3], config, budget=Budget(1))
    moved = max(
        float((p - before[n]).abs().max().detach()) for n, p in tagger.encoder.named_parameters()
    )
    assert moved == pytest.approx(1e-4, rel=0.01)
