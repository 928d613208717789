"""Fine-tuning: the sentences that it accepts, what it trains, and the mean start of the decoder."""

from __future__ import annotations

import copy

import pytest
import torch

from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import NoEntities, TooFewSentences, TrainingDiverged
from adaptner.models.base import Base
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.model import TaggingModel
from adaptner.training.budget import Budget
from adaptner.training.optimiser import OptimiserConfig
from adaptner.types import LabelSet, Sentence

SHORT = FineTuneConfig(steps=3, epochs=0)
SPECIES = bundled_corpus("species").split("train")
BEARING = [s for s in SPECIES if s.entities]
BARE = [s for s in SPECIES if not s.entities]


def weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {n: p.detach().clone() for n, p in module.named_parameters()}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[n], b[n]) for n in a)


# --- sentences and labels -------------------------------------------------------------------------


def test_several_labels_that_no_source_has_are_learnt(base, tagger):
    assert not {"Gene", "Species"} & {x for d in base.model.decoder for x in d.labels.labels}
    assert tagger.labels == LabelSet(("Gene", "Species"))
    for name in ("gene", "species"):
        seen = bundled_corpus(name).split("train")[:30]
        found = [e for entities in tagger.predict_sentences(seen) for e in entities]
        gold = sum(len(s.entities) for s in seen)
        right = sum(
            (e.start, e.end, e.label) in {(g.start, g.end, g.label) for g in s.entities}
            for s, entities in zip(seen, tagger.predict_sentences(seen), strict=True)
            for e in entities
        )
        assert right > 0.4 * gold, name  # of the training sentences
        assert right > 0.4 * len(found), name


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


def test_seed_determines_the_tagger(base):
    first, again = (fine_tune(base, BEARING[:12], SHORT, seed=3) for _ in range(2))
    other = fine_tune(base, BEARING[:12], SHORT, seed=4)
    assert equal(weights(first), weights(again))
    assert not equal(weights(first), weights(other))


def test_earlier_use_of_a_base_changes_nothing(base, tmp_path):
    """The batcher caches words of earlier texts."""
    base.save(tmp_path)
    unused, used = Base.load(tmp_path), Base.load(tmp_path)
    others = bundled_corpus("gene").split("train")
    fine_tune(used, BEARING[30:10:-1], SHORT).predict_sentences([*others[:50], *BEARING[::-1]])
    first, second = (fine_tune(b, BEARING[:12], SHORT, seed=3) for b in (unused, used))
    assert equal(weights(first), weights(second))


def test_base_does_not_change(base):
    before = weights(base.model)
    fine_tune(base, BEARING[:5], SHORT)
    assert equal(weights(base.model), before)


def test_encoder_and_decoder_change(base):
    start = CRF(base.model.encoder.width, LabelSet(("Species",)), torch.Generator().manual_seed(0))
    tagger = fine_tune(base, BEARING[:5], SHORT)
    learnt, given = weights(tagger.encoder), weights(base.model.encoder)
    assert all(not torch.equal(learnt[n], given[n]) for n in given)
    assert not torch.equal(tagger.decoder.weight, start.weight)


def test_tagger_has_no_auxiliary_head(base, tagger):
    assert base.model.head is not None
    assert {n.partition(".")[0] for n, _ in tagger.named_parameters()} == {"encoder", "decoder"}


@pytest.mark.parametrize("decoder", ["fresh", "mean"])
def test_frozen_decoder_keeps_its_start(base, decoder):
    frozen = FineTuneConfig(steps=5, decoder=decoder, freeze_decoder=True)
    learnt = fine_tune(base, BEARING[:5], frozen, seed=5)
    unmoved = fine_tune(base, BEARING[:5], frozen, seed=5, budget=Budget(0))
    assert equal(weights(learnt.decoder), weights(unmoved.decoder))
    assert not equal(weights(learnt.encoder), weights(unmoved.encoder))
    free = fine_tune(base, BEARING[:5], FineTuneConfig(steps=5, decoder=decoder), seed=5)
    assert not equal(weights(free.decoder), weights(unmoved.decoder))


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


def test_budget_overrides_configured_steps(base):
    watched: list[tuple[int, int]] = []
    tagger = fine_tune(
        base,
        BEARING[:3],
        SHORT,
        budget=Budget(7),
        progress=lambda done, total, remark="": watched.append((done, total)),
    )
    assert watched == [(i, 7) for i in range(1, 8)]
    assert tagger.facts["steps"] == 7


def test_budget_in_seconds_ends_the_run(base):
    tagger = fine_tune(base, BEARING[:3], SHORT, budget=Budget(10**6, 0.3))
    assert 1 <= tagger.facts["steps"] < 10**5


def test_divergence_raises(base):
    wild = OptimiserConfig(name="sgd", rate=1e30, momentum=0.0)
    with pytest.raises(TrainingDiverged, match="nothing had been written"):
        fine_tune(base, BEARING[:5], FineTuneConfig(steps=30, optimiser=wild))


# --- a decoder that starts as the mean of the sources ---------------------------------------------

MEAN = FineTuneConfig(decoder="mean")


def mean_base(base: Base, *label_sets: tuple[str, ...]) -> Base:
    """A base whose decoders have these labels."""
    domains = {str(i): LabelSet(labels) for i, labels in enumerate(label_sets)}
    encoder = copy.deepcopy(base.model.encoder)
    model = TaggingModel(encoder, domains, torch.Generator().manual_seed(11))
    return Base(model, base.batcher, base.method)


def started(base: Base, labels: LabelSet, config: FineTuneConfig) -> dict[str, torch.Tensor]:
    tagger = fine_tune(base, BARE[:2], config, labels=labels, budget=Budget(0), seed=9)
    return {n: p[0] for n, p in weights(tagger.decoder).items()}


def test_mean_start_of_one_label_from_two_sources(base):
    given = mean_base(base, ("A",), ("B",))
    found = started(given, LabelSet(("New",)), MEAN)
    a, b = (weights(d) for d in given.model.decoder)
    for name, value in found.items():  # all have the tags O, B-x, I-x, so everything is a mean
        torch.testing.assert_close(value, (a[name][0] + b[name][0]) / 2)


def test_mean_start_of_two_labels_from_two_sources(base):
    given = mean_base(base, ("A",), ("B",))
    labels = LabelSet(("New", "Other"))
    found, fresh = started(given, labels, MEAN), started(given, labels, FineTuneConfig())
    a, b = (weights(d) for d in given.model.decoder)
    first, second = [0, 1, 2], [0, 3, 4]  # O, B-x, I-x of each new label
    for name in ("weight", "bias", "start", "end"):
        mean = (a[name][0] + b[name][0]) / 2
        torch.testing.assert_close(found[name][first], mean)
        torch.testing.assert_close(found[name][second], mean)
    mean = (a["transition"][0] + b["transition"][0]) / 2
    for rows in (first, second):
        torch.testing.assert_close(found["transition"][rows][:, rows], mean)
    for i in (1, 2):  # transitions between different labels stay random
        for j in (3, 4):
            assert found["transition"][i, j] == fresh["transition"][i, j]
            assert found["transition"][j, i] == fresh["transition"][j, i]


def test_mean_start_averages_over_the_labels_of_one_source(base):
    """The tags O, B-A, I-A, B-B, I-B have the numbers 0 to 4."""
    given = mean_base(base, ("A", "B"))
    found = started(given, LabelSet(("New",)), MEAN)
    (own,) = (weights(d) for d in given.model.decoder)
    for name in ("weight", "bias", "start", "end"):
        o, b_a, i_a, b_b, i_b = own[name][0]
        torch.testing.assert_close(found[name], torch.stack([o, (b_a + b_b) / 2, (i_a + i_b) / 2]))
    t = own["transition"][0]
    by_hand = [
        [t[0, 0], (t[0, 1] + t[0, 3]) / 2, (t[0, 2] + t[0, 4]) / 2],
        [(t[1, 0] + t[3, 0]) / 2, (t[1, 1] + t[3, 3]) / 2, (t[1, 2] + t[3, 4]) / 2],
        [(t[2, 0] + t[4, 0]) / 2, (t[2, 1] + t[4, 3]) / 2, (t[2, 2] + t[4, 4]) / 2],
    ]
    torch.testing.assert_close(
        found["transition"], torch.stack([torch.stack(row) for row in by_hand])
    )


def test_mean_start_ignores_a_source_without_labels(base):
    with_empty = started(mean_base(base, ("A",), ()), LabelSet(("New",)), MEAN)
    alone = started(mean_base(base, ("A",)), LabelSet(("New",)), MEAN)
    for name, value in alone.items():
        torch.testing.assert_close(with_empty[name], value)


def test_mean_start_stays_random_if_no_source_has_labels(base):
    found = started(mean_base(base, ()), LabelSet(("New",)), MEAN)
    fresh = started(mean_base(base, ()), LabelSet(("New",)), FineTuneConfig())
    assert equal(found, fresh)


@pytest.mark.parametrize(("sentences", "steps"), [(1, 20), (5, 20), (20, 20), (21, 30), (50, 50)])
def test_default_steps_grow_with_the_sentences(sentences: int, steps: int) -> None:
    """At least 20 steps and ten epochs in batches of ten."""
    assert FineTuneConfig().steps_for(sentences) == steps


def test_encoder_has_a_tenth_of_the_rate(base: Base) -> None:
    """AdamW's first step changes a parameter by its rate, whatever the gradient."""
    config = FineTuneConfig(optimiser=OptimiserConfig(name="adamw", rate=1e-3, weight_decay=0))
    before = {n: p.clone() for n, p in base.model.encoder.named_parameters()}
    tagger = fine_tune(base, BEARING[:3], config, budget=Budget(1))
    moved = max(
        float((p - before[n]).abs().max().detach()) for n, p in tagger.encoder.named_parameters()
    )
    assert moved == pytest.approx(1e-4, rel=0.01)
