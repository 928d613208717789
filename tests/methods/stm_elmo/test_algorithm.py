"""STM+ELMO: the text of its language model, its two stages, zero-shot learning, and saved taggers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from modules_kit import same

from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.errors import (
    BadConfiguration,
    IncompatibleMethod,
    NoEntities,
    TooFewSentences,
    UnknownLabels,
)
from adaptner.methods import method
from adaptner.methods.stm_elmo.algorithm import ContextualConfig, STMElmoObjective
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.training.budget import Budget
from adaptner.types import Entity, LabelSet, Sentence

TINY = {"word_width": 12, "char_embedding": 6, "char_cnn_filters": 6, "hidden": 10, "dropout": 0.1}
CONFIG = ContextualConfig(steps=3, epochs=0, batch=6, lm_batch=6)
ZERO = CONFIG.model_copy(update={"zero_shot": True})


@pytest.fixture(scope="module")
def sources() -> list[SourceDomain]:
    return source_domains(group_by_domain([bundled_corpus("gene")]))


@pytest.fixture(scope="module")
def base(sources: list[SourceDomain]) -> Base:
    return method("stm-elmo")(encoder={**TINY, "language_model_width": 8}).fit(sources, Budget(0))


def target() -> tuple[Sentence, ...]:
    return bundled_corpus("cellline").split("train")[:20]


def adapt(
    base: Base, sources: list[SourceDomain], config: ContextualConfig = CONFIG, **given: Any
) -> Tagger:
    support = given.pop("support", target())
    sentences = {d.name: d.sentences for d in sources}
    return run(STMElmoObjective(base, AdaptRequest(support, **given), config, sentences))


def test_tagger_does_not_train_the_language_model(base, sources):
    config = CONFIG.model_copy(update={"lm_steps": 2})
    short, long = (adapt(base, sources, config, budget=Budget(n)) for n in (1, 4))
    assert same(short.encoder.language_model, long.encoder.language_model)
    assert not same(short.encoder.language_model, base.model.encoder.language_model)
    assert not same(short.encoder.mix, long.encoder.mix)
    assert (short.facts["steps"], short.facts["lm_steps"]) == (1, 2)
    without_steps = adapt(base, sources, CONFIG.model_copy(update={"lm_steps": 0}))
    assert same(without_steps.encoder.language_model, base.model.encoder.language_model)


def test_setting_decides_whose_text_is_read(base, sources):
    taggers = {
        text: adapt(base, sources, CONFIG.model_copy(update={"lm_text": text}))
        for text in ("both", "source", "target")
    }
    assert {t: tagger.facts["unlabelled"] for t, tagger in taggers.items()} == {
        "both": 20,
        "source": 0,
        "target": 20,
    }
    models = {t: tagger.encoder.language_model for t, tagger in taggers.items()}
    assert not same(models["both"], models["source"])
    assert not same(models["both"], models["target"])
    # With the source's text alone, the target's text changes nothing.
    other = [replace(s, text=s.text[::-1]) for s in target()]
    again = adapt(base, sources, CONFIG.model_copy(update={"lm_text": "source"}), unlabelled=other)
    assert same(again.encoder.language_model, models["source"])


def test_text_is_read_from_a_file(base, sources, tmp_path):
    lines = [s.text for s in bundled_corpus("drug").split("train")[:9]]
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = {"target_text": (str(tmp_path / "t.txt"),), "target_sentences": 4}
    assert adapt(base, sources, CONFIG.model_copy(update=settings)).facts["unlabelled"] == 4


def test_zero_shot_reads_no_label_of_the_target(base, sources):
    poisoned = [replace(s, entities=(Entity(0, 99, "no such"),)) for s in target()]
    with pytest.raises(IndexError):
        poisoned[0].tags  # noqa: B018
    bare = adapt(
        base, sources, ZERO, support=(), unlabelled=[s.without_entities() for s in target()]
    )
    assert same(adapt(base, sources, ZERO, support=(), unlabelled=poisoned), bare)
    assert same(adapt(base, sources, ZERO, support=poisoned), bare)
    assert bare.labels.labels == ("Gene",)
    assert (bare.facts["sentences"], bare.facts["unlabelled"]) == (0, 20)


def test_missing_data_is_reported_before_any_step(base, sources):
    def fail(*_: object) -> None:
        raise AssertionError("a step was taken")

    with pytest.raises(TooFewSentences, match="raw text"):
        adapt(base, sources, ZERO, support=(), progress=fail)
    with pytest.raises(UnknownLabels):
        adapt(base, sources, ZERO, labels=LabelSet(("CellLine",)), progress=fail)
    with pytest.raises(NoEntities):
        adapt(base, sources, support=[s.without_entities() for s in target()], progress=fail)


def test_progress_counts_the_steps_of_both_stages(base, sources):
    seen: list[tuple[int, int]] = []
    adapt(base, sources, progress=lambda done, total, remark="": seen.append((done, total)))
    assert seen[:3] == [(1, 6), (2, 6), (3, 6)]
    assert seen[-1] == (6, 6)


def test_saved_tagger_and_base_give_the_same_predictions(base, sources, tmp_path):
    config = CONFIG.model_copy(update={"lm_steps": 3})
    tagger = adapt(base, sources, config, budget=Budget(40))
    test = bundled_corpus("cellline").split("test")[:20]
    expected = tagger.predict_sentences(test)
    assert any(expected)
    tagger.save(tmp_path / "tagger")
    assert Tagger.load(tmp_path / "tagger").predict_sentences(test) == expected
    base.save(tmp_path / "base")
    again = adapt(Base.load(tmp_path / "base"), sources, config, budget=Budget(40))
    assert again.predict_sentences(test) == expected


def test_only_stm_elmo_accepts_an_encoder_with_a_language_model(sources):
    with pytest.raises(
        BadConfiguration, match=r"encoder\.language_model_width: in-domain learns no"
    ):
        method("in-domain")(encoder={**TINY, "language_model_width": 8}).fit(sources, Budget(0))
    plain = method("in-domain")(encoder={**TINY, "char_lstm": 0}).fit(sources, Budget(0))
    with pytest.raises(IncompatibleMethod, match=r"encoder\.language_model_width"):
        method("stm-elmo")().adapt(plain, target(), sources=sources)
