"""Early stopping: training on many sentences ends early and keeps the best epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adaptner import api
from adaptner.adaptation import early_stopping
from adaptner.adaptation.early_stopping import (
    EARLY_STOPPING_FROM,
    EarlyStopping,
    train_with_early_stopping,
)
from adaptner.adaptation.fine_tune import FineTuneConfig
from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.corpora.bundled import bundled_corpus
from adaptner.models.base import Base
from adaptner.types import Entity, Sentence

GENES = bundled_corpus("gene").split("train")


def many(count: int) -> list[Sentence]:
    return [GENES[i % len(GENES)] for i in range(count)]


def with_settings(base: Base, config: FineTuneConfig) -> Base:
    return replace(base, config={**base.config, "adaptation": config.model_dump()})


@pytest.mark.slow
def test_five_thousand_sentences_stop_early(base, quick, monkeypatch):
    """The sentences are repeated, so that F1 soon stops improving."""
    monkeypatch.setattr(early_stopping, "HELD_OUT", 0.02)
    steps: list[tuple[int, int, str]] = []
    start = with_settings(base, quick.model_copy(update={"epochs": 10, "batch": 100}))
    tagger = api.adapt(many(5000), start, progress=lambda *step: steps.append(step))
    total = steps[0][1]
    assert total == 10 * 49
    assert len(steps) < total
    assert [done for done, _, _ in steps] == list(range(1, len(steps) + 1))
    assert "F1" in steps[-1][2]
    assert tagger.facts["held_out"] == 100
    assert tagger.facts["held_out_f1"] > 0.5
    assert tagger.facts["steps"] <= len(steps)
    found = tagger.predict_sentences(GENES[:20])
    assert sum(map(len, found)) > 10


@pytest.mark.slow
def test_returned_tagger_is_that_of_the_best_epoch(base, quick, monkeypatch):
    scores: list[float] = []
    score_entities = early_stopping.score_entities

    def record(gold, found):
        result = score_entities(gold, found)
        scores.append(result.overall.f1)
        return result

    monkeypatch.setattr(early_stopping, "score_entities", record)
    config = quick.model_copy(update={"steps": 1, "epochs": 6})
    objective = EarlyStopping(base, AdaptRequest(many(200)), config)
    tagger = run(objective)
    assert tagger.facts["held_out_f1"] == round(max(scores), 4)
    held_out = objective.held_out
    again = score_entities([s.entities for s in held_out], tagger.predict_sentences(held_out))
    assert again.overall.f1 == pytest.approx(max(scores))


def test_budget_that_ends_within_the_first_epoch_is_evaluated(base, quick):
    tagger = train_with_early_stopping(
        base, many(200), quick.model_copy(update={"steps": 3, "epochs": 0})
    )
    assert tagger.facts["steps"] == 3
    assert 0 <= tagger.facts["held_out_f1"] <= 1


def test_fewer_sentences_are_fine_tuned_without_held_out_ones(base, quick, monkeypatch):
    path = "adaptner.api.adaptation.train_with_early_stopping"
    monkeypatch.setattr(path, None)  # calling it would fail
    start = with_settings(base, quick.model_copy(update={"steps": 1, "epochs": 0}))
    assert "held_out" not in api.adapt(many(EARLY_STOPPING_FROM - 1), start).facts


def test_fifty_labels_can_be_learnt(base, quick):
    """They need 101 tags."""
    words = [f"name{i}" for i in range(50)]
    sentences = []
    for i, word in enumerate(words):
        text = f"The {word} was seen."
        sentences.append(
            Sentence(text, ((0, 3), (4, 4 + len(word)), (5 + len(word), 8 + len(word)),
                            (9 + len(word), 13 + len(word)), (13 + len(word), 14 + len(word))),
                     (Entity(4, 4 + len(word), f"Type{i:02}"),))
        )  # fmt: skip
    tagger = api.adapt(sentences, base)
    assert len(tagger.labels) == 50
    for entities in tagger.predict([s.text for s in sentences]):
        assert {e.label for e in entities} <= set(tagger.labels.labels)
        assert all(0 <= e.score <= 1 for e in entities)
