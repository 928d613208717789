"""The registry of methods, checks that every method passes, and the files that belong to each."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from modules_kit import same

import adaptner
from adaptner.cli.common import expand_list_options
from adaptner.cli.main import app
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import Corpus, group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.errors import (
    BadConfiguration,
    HeterogeneousTarget,
    IncompatibleMethod,
    SourcesNeeded,
    TooFewDomains,
    TooFewSentences,
    UnknownName,
    UsageError,
)
from adaptner.methods import method, methods
from adaptner.methods.base import Method
from adaptner.methods.configuration import make_method, without_labels
from adaptner.methods.families.joint import JointMethod
from adaptner.methods.families.meta_learner import MetaLearner
from adaptner.methods.families.unadapted import UnadaptedMethod
from adaptner.methods.metaner import MetaNER
from adaptner.methods.self_train import most_confident
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.config import TransformerConfig
from adaptner.pretraining.from_sources import pretrain
from adaptner.reproduce.tables.published import papers
from adaptner.training.budget import Budget
from adaptner.types import Entity, LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

NAMES = [  # in alphabetical order
    "agg", "crossdomain-lm", "d-shift", "dann", "datnet", "finetuning", "hgda",
    "hgda-nes", "in-domain", "la-dtl", "maml", "metaner", "metaner-zero", "multi-cell",
    "multitask", "named", "pdaln", "self-train", "stm-elmo", "wpz",
]  # fmt: skip

TINY = {"word_width": 16, "char_embedding": 8, "char_cnn_filters": 8, "char_lstm": 8, "hidden": 12}
QUICK = {"encoder": TINY, "k": 3, "tasks": 2, "adaptation": {"steps": 3, "epochs": 0}}
PACKAGE = Path(adaptner.__file__).parent
ROOT = Path(__file__).resolve().parents[2]

every_method = pytest.mark.parametrize("name", sorted(methods()))


def of_kind(kind: type[Method]) -> pytest.MarkDecorator:
    names = sorted(n for n, m in methods().items() if issubclass(m, kind))
    assert names
    return pytest.mark.parametrize("name", names)


every_meta_learner = of_kind(MetaLearner)
every_metaner = of_kind(MetaNER)
every_joint = of_kind(JointMethod)
every_unadapted = of_kind(UnadaptedMethod)


@pytest.fixture(scope="module")
def fitted(sources: list[SourceDomain]) -> Callable[..., Base]:
    """``fitted(name, steps=2)``: the base of the method of that name. Not to be changed."""
    return cache(lambda name, steps=2: method(name)(**QUICK).fit(sources, Budget(steps)))


@pytest.fixture(scope="module")
def adapted(fitted: Callable[..., Base], sources: list[SourceDomain]) -> Callable[[str], Tagger]:
    """``adapted(name)``: the tagger that the method makes of that base. Not to be changed."""
    return cache(lambda name: adapt(method(name)(**QUICK), fitted(name), sources))


def target_of(chosen: Method) -> Corpus:
    """A target that the method accepts: with the sources' labels if it needs them."""
    return bundled_corpus("gene" if not chosen.capabilities.new_labels else "cellline")


def adapt(
    chosen: Method, base: Base, sources: list[SourceDomain], seed: int = 1, size: int = 5
) -> Tagger:
    target = target_of(chosen)
    given = sources if chosen.capabilities.reads_sources else ()
    support = target.split("train")[:size]
    return chosen.adapt(base, support, labels=target.labels, sources=given, seed=seed)


# --- the registry ---------------------------------------------------------------------------------


def test_registry_has_exactly_these_methods():
    assert list(methods()) == NAMES


@every_method
def test_method_describes_itself(name):
    found = method(name)
    assert issubclass(found, Method)
    assert found.name == name
    assert found.title
    assert found.paper
    assert found.needs
    assert found.__module__ == f"adaptner.methods.{name.replace('-', '_')}"


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("hdga", "hgda"),
        ("hgda_nes", "hgda-nes"),
        ("mamI", "maml"),
        ("fine-tuning", "finetuning"),
        ("metaner_zero", "metaner-zero"),
    ],
)
def test_unknown_method_error_suggests_a_similar_name(given, near):
    with pytest.raises(UnknownName) as error:
        method(given)
    message = str(error.value)
    assert f"no method is called {given!r}" in message
    assert f"did you mean {near!r}" in message
    assert all(name in message for name in NAMES)


@pytest.mark.parametrize("name", ["xxxxxxxx", "HGDA-NES"])
def test_nothing_is_suggested_for_a_dissimilar_name(name):
    with pytest.raises(UnknownName) as error:
        method(name)
    assert "did you mean" not in str(error.value)


# --- configuration --------------------------------------------------------------------------------


BAD_SETTINGS: list[tuple[type[Method], list[tuple[dict[str, Any], str]]]] = [
    (
        Method,
        [
            ({"k": 0}, "k"),
            ({"k": "many"}, "k"),
            ({"tasks": -1}, "tasks"),
            ({"decoders": "several"}, "decoders"),
            ({"scheme": "iob1"}, "scheme"),
            ({"no_such_field": 1}, "no_such_field"),
            ({"encoder": {"hidden": 0}}, "encoder.hidden"),
            ({"encoder": {"dropout": 1.0}}, "encoder.dropout"),
            ({"encoder": {"recurrent": "rnn"}}, "encoder.recurrent"),
            ({"encoder": {"char_lstm": 25}}, "encoder.char_lstm"),  # not divisible by 2 directions
            ({"encoder": {"char_cnn_widths": []}}, "encoder.char_cnn_widths"),
            ({"encoder": {"char_cnn_widths": [3, 0]}}, "encoder.char_cnn_widths.1"),
            ({"encoder": {"hiden": 3}}, "encoder.hiden"),
            ({"encoder": 5}, "encoder"),
            ({"optimiser": {"name": "adam"}}, "optimiser.name"),
            ({"optimiser": {"momentum": 1.0}}, "optimiser.momentum"),
            ({"adaptation": {"steps": 0}}, "adaptation.steps"),
            ({"adaptation": {"decoder": "median"}}, "adaptation.decoder"),
            ({"adaptation": {"optimiser": {"rate": 0}}}, "adaptation.optimiser.rate"),
        ],
    ),
    (
        MetaLearner,
        [
            ({"sampling": "some"}, "sampling"),
            ({"outer": "third"}, "outer"),
            ({"weighting": "softness"}, "weighting"),
            ({"base_rate": 0}, "base_rate"),
            ({"inner_rate": -1.0}, "inner_rate"),
            ({"aux_weight": float("nan")}, "aux_weight"),
        ],
    ),
    (
        MetaNER,
        [
            ({"inner_rate": 0}, "inner_rate"),
            ({"inner_steps": 0}, "inner_steps"),
            ({"aux_weight": -0.1}, "aux_weight"),
            ({"adversary": "fierce"}, "adversary"),
            ({"sampling": "entities"}, "sampling"),  # a setting of HGDA
        ],
    ),
    (
        JointMethod,
        [
            ({"adaptation": {"source_tasks": 0}}, "adaptation.source_tasks"),
            ({"adaptation": {"source_weight": -1}}, "adaptation.source_weight"),
            ({"adaptation": {"aux_weight": -1}}, "adaptation.aux_weight"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("kind", "cases"), BAD_SETTINGS, ids=lambda value: getattr(value, "__name__", "")
)
def test_error_of_a_bad_setting_starts_with_the_field(kind, cases):
    kinds = [m for m in methods().values() if issubclass(m, kind)]
    assert kinds
    for found in kinds:
        for settings, field in cases:
            with pytest.raises(BadConfiguration) as error:
                found(**settings)
            assert str(error.value).startswith(f"{field}: "), (found.name, settings)


@every_method
def test_settings_survive_json(name):
    first = method(name)(**QUICK)
    again = method(name)(**first.config.model_dump(mode="json"))
    assert again.config == first.config


@every_method
def test_override_changes_one_setting_only(name):
    first = method(name)(**QUICK)
    second = method(name)(first.config, k=4)
    assert second.config == first.config.model_copy(update={"k": 4})


@every_method
def test_override_of_a_nested_setting_keeps_the_others(name):
    plain = method(name)().config
    part = {"encoder": {"hidden": 7}, "optimiser": {"clip": 2.5}, "adaptation": {"batch": 9}}
    changed = method(name)(**part).config
    for table, (field, value) in ((t, *f.items()) for t, f in part.items()):
        before = getattr(plain, table)
        assert getattr(changed, table) == before.model_copy(update={field: value})


def test_meta_learners_differ_in_classifier_sampling_and_weighting():
    """HGDA, sections 3.2 and 3.3; MetaBioNER, Table 2."""
    settings = {
        n: (c.classifier, c.sampling, c.weighting)
        for n, c in ((n, m().config) for n, m in methods().items() if issubclass(m, MetaLearner))
    }
    assert settings == {
        "hgda": (True, "all", "hardness"),
        "hgda-nes": (True, "entities", "uniform"),
        "maml": (False, "all", "uniform"),
    }


def test_rate_follows_equation_3_of_hgda():
    config = method("hgda")(k=8, base_rate=0.04, outer_rate=0.5).config
    assert config.scaled_rate() == pytest.approx(0.02)
    assert config.outer_optimiser().rate == 0.5


@every_metaner
def test_metaner_has_the_values_of_the_paper(name):
    """Section 5.1.2. Random vectors are as wide as the paper's GloVe vectors."""
    config = method(name)().config
    assert (config.inner_rate, config.optimiser.rate, config.aux_weight) == (1e-4, 1e-3, 0.8)
    assert (config.optimiser.weight_decay, config.optimiser.clip) == (1e-6, 5.0)
    assert config.scheme == "bioes"
    encoder = config.encoder
    assert (encoder.word_width, encoder.tune_words) == (300, True)
    assert (encoder.char_embedding, encoder.char_cnn_widths) == (100, (2, 3, 4, 5))
    assert encoder.char_cnn_filters * len(encoder.char_cnn_widths) == 100
    assert (encoder.char_lstm, encoder.recurrent, encoder.hidden) == (0, "gru", 128)
    assert encoder.dropout == 0.5


def test_methods_with_one_decoder_for_all_domains():
    shared = {n for n, m in methods().items() if m().config.shape().shared}
    assert shared == {"agg", "d-shift", "metaner-zero", "pdaln", "self-train", "wpz"}


# --- fit and adapt --------------------------------------------------------------------------------


@pytest.mark.slow
@every_method
def test_method_fits_and_adapts(name, fitted, adapted):
    chosen, base, tagger = method(name)(**QUICK), fitted(name), adapted(name)
    assert base.method == name
    assert base.facts["iterations"] == (2 if chosen.trains_base else 0)
    assert base.facts["vectors"] == "random"
    assert [s["domain"] for s in base.facts["sources"]] == ["Disease", "Drug", "Gene"]
    assert same(fitted(name, 0).model.encoder, base.model.encoder) != chosen.trains_base
    assert tagger.method == name
    labels = target_of(chosen).labels.labels
    # These have one decoder over all labels.
    if not chosen.capabilities.new_labels or name == "agg":
        assert set(tagger.labels.labels) == {"Disease", "Drug", "Gene", *labels}
    else:
        assert tagger.labels.labels == labels
    assert tagger.labels.scheme == chosen.config.scheme
    if name != "named":  # it fits the decoder alone, with its own optimiser
        assert tagger.facts["steps"] == (3 if chosen.capabilities.adapts else 0)
    keeps_encoder = name == "named" or not chosen.capabilities.adapts
    assert same(tagger.encoder, base.model.encoder) == keeps_encoder
    assert len(tagger.predict(["HeLa cells grew.", ""])) == 2


@pytest.mark.slow
@every_method
def test_seed_determines_base_and_tagger(name, fitted, adapted, sources):
    """The first base has been adapted before, which must not have changed it."""
    chosen, base, tagger = method(name)(**QUICK), fitted(name), adapted(name)
    assert same(base.model, chosen.fit(sources, Budget(2)).model)
    assert not same(base.model, chosen.fit(sources, Budget(2), seed=5).model)
    assert same(tagger, adapt(chosen, base, sources))
    draws_nothing = name == "named" or not chosen.capabilities.adapts
    assert same(tagger, adapt(chosen, base, sources, seed=5)) == draws_nothing


@pytest.mark.slow
@every_method
def test_saved_base_gives_the_same_tagger(name, fitted, adapted, sources, tmp_path):
    chosen, base = method(name)(**QUICK), fitted(name)
    base.save(tmp_path)
    loaded = Base.load(tmp_path)
    shape = chosen.config.shape()
    assert (loaded.method, loaded.facts, loaded.model.shape) == (name, base.facts, shape)
    assert same(loaded.model, base.model)
    assert same(adapt(chosen, loaded, sources), adapted(name))


@pytest.mark.slow
@every_method
def test_saved_tagger_gives_the_same_predictions(name, adapted, tmp_path):
    adapted(name).save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.method == name
    texts = [s.text for s in bundled_corpus("gene").split("test")]
    assert loaded.predict(texts) == adapted(name).predict(texts)


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("tune", [False, True])
def test_given_vectors_are_kept(name, tune, sources):
    """Frozen or trained; the sources and the target have only some of the words."""
    words = [s.tokens for d in sources for s in d.sentences]
    words += [s.tokens for s in bundled_corpus("species").split("train")]
    vectors = WordVectors.random(words, 16, np.random.default_rng(0))
    chosen = method(name)(**{**QUICK, "encoder": {**TINY, "tune_words": tune}})
    base = chosen.fit(sources, Budget(2), vectors=vectors)
    assert base.facts["vectors"] == "given"
    assert base.batcher.vectors.words == vectors.words
    tagger = adapt(chosen, base, sources)
    assert tagger.batcher.vectors.words == vectors.words
    assert len(tagger.predict(["HeLa cells grew."])) == 1


@pytest.mark.slow
@every_method
def test_finished_run_is_recognised_and_can_be_repeated(name, tmp_path):
    """Also for methods whose ``fit`` does not train."""
    chosen = method(name)(**QUICK)
    corpora = [bundled_corpus(n) for n in ("disease", "drug")]
    first = pretrain(chosen, corpora, Budget(2), tmp_path / "run")
    for resume in (True, False):
        again = pretrain(chosen, corpora, Budget(2), tmp_path / "run", resume=resume)
        assert same(again.model, first.model)


@every_method
def test_bioes_tags_do_not_show_in_predictions(name, sources):
    chosen = method(name)(**{**QUICK, "scheme": "bioes"})
    tagger = adapt(chosen, chosen.fit(sources, Budget(1)), sources)
    assert tagger.labels.scheme == "bioes"
    found = tagger.predict([s.text for s in bundled_corpus("gene").split("test")])
    assert {e.label for entities in found for e in entities} <= set(tagger.labels.labels)


@every_meta_learner
@pytest.mark.parametrize("outer", ["first", "second", "implicit"])
def test_every_outer_gradient_is_finite(name, outer, sources):
    chosen = method(name)(**{**QUICK, "outer": outer, "inner_steps": 2})
    base = chosen.fit(sources, Budget(1))
    assert all(bool(p.isfinite().all()) for p in base.model.parameters())


@every_method
def test_encoder_without_character_parts_works(name, sources):
    bare = {**TINY, "char_cnn_filters": 0, "char_lstm": 0, "recurrent": "gru"}
    chosen = method(name)(**{**QUICK, "encoder": bare})
    base = chosen.fit(sources, Budget(1))
    assert len(adapt(chosen, base, sources).predict(["HeLa cells grew."])) == 1


@every_method
def test_too_few_domains_are_refused(name, sources):
    chosen = method(name)(**QUICK)
    minimum = chosen.min_domains()
    assert minimum == (2 if name in ("hgda", "hgda-nes", "metaner", "metaner-zero") else 1)
    with pytest.raises(TooFewDomains) as error:
        chosen.fit(sources[: minimum - 1], Budget(1))
    assert ("at least two" if minimum == 2 else "at least one") in str(error.value)
    chosen.fit(sources[:minimum], Budget(1))


@every_method
def test_too_few_sentences_for_a_task_are_refused(name, sources):
    chosen = method(name)(**{**QUICK, "k": 500})
    with pytest.raises(TooFewSentences, match="--k") if chosen.trains_base else nullcontext():
        chosen.fit(sources, Budget(1))


@every_method
def test_empty_target_is_refused_if_the_method_learns_from_it(name, fitted, sources):
    chosen, base = method(name)(**QUICK), fitted(name, 0)
    given = {
        "labels": bundled_corpus("gene").labels,
        "sources": sources if chosen.capabilities.reads_sources else (),
    }
    with nullcontext() if not chosen.capabilities.adapts else pytest.raises(TooFewSentences):
        assert chosen.adapt(base, [], **given).facts["sentences"] == 0


@every_method
def test_one_sentence_suffices(name, fitted, sources):
    tagger = adapt(method(name)(**QUICK), fitted(name, 0), sources, size=1)
    assert all(bool(p.isfinite().all()) for p in tagger.parameters())


# --- accepted bases and targets -------------------------------------------------------------------


@every_unadapted
def test_target_with_new_labels_is_refused(name, fitted):
    chosen, base = method(name)(**QUICK), fitted(name, 0)
    target = bundled_corpus("cellline")
    for support, labels in ((target.split("train")[:5], None), ([], target.labels)):
        with pytest.raises(HeterogeneousTarget) as error:
            chosen.adapt(base, support, labels=labels)
        assert "CellLine" in str(error.value)
        assert "Disease, Drug, Gene" in str(error.value)


@every_unadapted
def test_base_with_several_decoders_cannot_be_used_unchanged(name, sources):
    chosen = method(name)(**{**QUICK, "decoders": "own"})
    with pytest.raises(HeterogeneousTarget, match="a decoder for each of its domains"):
        adapt(chosen, chosen.fit(sources, Budget(0)), sources)


@every_joint
def test_joint_methods_refuse_missing_and_unknown_sources(name, sources):
    chosen = method(name)(**QUICK)
    base = chosen.fit(sources[:2], Budget(0))
    for given, found in ((), "none"), (sources, "Gene"):
        with pytest.raises(SourcesNeeded) as error:
            chosen.adapt(base, bundled_corpus("cellline").split("train")[:5], sources=given)
        assert f"sources given: {found}" in str(error.value)
        assert "(Disease, Drug)" in str(error.value)
    assert adapt(chosen, base, sources[:1]).facts["source_sentences"] == 160


@every_joint
def test_joint_methods_adapt_the_base_of_finetuning(name, fitted, sources):
    tagger = adapt(method(name)(**QUICK), fitted("finetuning"), sources)
    assert (tagger.method, tagger.facts["base"]) == (name, "finetuning")


@every_method
def test_base_with_another_kind_of_decoder_is_refused(name, fitted, sources):
    other = "finetuning" if name == "wpz" else "wpz"
    with pytest.raises(IncompatibleMethod, match=f"{name} cannot adapt a base made by {other}"):
        adapt(method(name)(**QUICK), fitted(other, 0), sources)


def test_in_domain_uses_nothing_of_the_sources(sources):
    """Different bases give the same tagger, with the words and letters of the target."""
    chosen = method("in-domain")(**QUICK)
    first, second = (adapt(chosen, chosen.fit(s, Budget(3)), s) for s in (sources, sources[:1]))
    assert same(first, second)
    support = bundled_corpus("cellline").split("train")[:5]
    assert set(first.batcher.vectors.words) <= {
        w for s in support for t in s.tokens for w in (t, t.lower())
    }


def test_in_domain_refuses_vectors_trained_on_the_sources(sources):
    vectors = WordVectors.random(
        (s.tokens for d in sources for s in d.sentences), 16, np.random.default_rng(0)
    )
    chosen = method("in-domain")(**QUICK)
    tuned = method("finetuning")(**{**QUICK, "encoder": {**TINY, "tune_words": True}})
    with pytest.raises(IncompatibleMethod, match="trained on the sources"):
        adapt(chosen, tuned.fit(sources, Budget(1), vectors=vectors), sources)
    frozen = method("finetuning")(**QUICK)
    adapt(chosen, frozen.fit(sources, Budget(1), vectors=vectors), sources)
    adapt(chosen, tuned.fit(sources, Budget(0), vectors=vectors), sources)


def test_dann_without_adversary_equals_multitask(fitted, sources):
    base = fitted("finetuning")
    without = {**QUICK, "adaptation": {**QUICK["adaptation"], "aux_weight": 0.0}}
    dann, multitask = (
        adapt(method(name)(**settings), base, sources)
        for name, settings in (("dann", without), ("multitask", QUICK))
    )
    assert same(dann, multitask)


@pytest.mark.parametrize("name", ["crossdomain-lm", "self-train", "stm-elmo"])
def test_methods_of_jia2019_refuse_missing_sources(name, fitted):
    with pytest.raises(SourcesNeeded, match="sources given: none"):
        method(name)(**QUICK).adapt(fitted(name, 0), bundled_corpus("gene").split("train")[:5])


@pytest.mark.parametrize(
    "name", sorted(n for n, m in methods().items() if m.capabilities.zero_shot)
)
def test_zero_shot_reads_no_label(name, sources):
    """Even if the text has labels that no source has."""
    chosen = without_labels(method(name)(**QUICK, decoders="shared"))
    base = chosen.fit(sources, Budget(1))
    text = bundled_corpus("cellline").split("train")[:20]
    given = {
        "labels": bundled_corpus("gene").labels,
        "sources": sources if chosen.capabilities.reads_sources else (),
    }
    labelled, bare = (
        chosen.adapt(
            base, [], unlabelled=own if chosen.capabilities.reads_text else (), **given, seed=1
        )
        for own in (text, [s.without_entities() for s in text])
    )
    assert same(labelled, bare)
    assert set(labelled.labels.labels) == {"Disease", "Drug", "Gene"}
    assert same(labelled.encoder, base.model.encoder) == (not chosen.capabilities.adapts)


def test_zero_shot_with_a_method_that_needs_labels_is_refused():
    with pytest.raises(UsageError, match="finetuning needs labelled sentences") as error:
        without_labels(method("finetuning")())
    named = "crossdomain-lm, d-shift, dann, metaner-zero, multi-cell, pdaln, self-train, stm-elmo"
    assert named in str(error.value)


def test_zero_shot_dann_without_adversary_is_refused():
    with pytest.raises(BadConfiguration, match="zero_shot needs aux_weight"):
        method("dann")(adaptation={"zero_shot": True, "aux_weight": 0})


def test_self_training_selects_the_most_confident_sentences():
    text = [Sentence.from_tokens(["a", "b"]) for _ in range(5)]
    high, middle, low = (Entity(0, 1, "X", score) for score in (0.9, 0.8, 0.3))
    found = [[low], [], [high, middle], [high], [high, low]]
    chosen = most_confident(text, found, 0.5)
    assert [s.entities for s in chosen] == [
        (Entity(0, 1, "X"), Entity(0, 1, "X")),
        (Entity(0, 1, "X"),),
    ]
    assert most_confident(text, [[] for _ in text], 0.5) == text


def test_wpz_without_retraining_only_computes_class_means(sources):
    chosen = method("wpz")(**QUICK, retrain=False)
    base = chosen.fit(sources, Budget(1))
    tagger = adapt(chosen, base, sources)
    assert tagger.facts["steps"] == 0
    assert same(tagger.encoder, base.model.encoder)
    assert bool(tagger.decoder.seen.any())


@pytest.mark.parametrize(
    "ablation",
    [
        {"adversary": False},
        {"meta": False},
        {"meta": False, "adversary": False},
        {"new_only": True},
        {"maml_update": True},
        {"encoder": {**TINY, "char_cnn_filters": 0}},
        {"inner_steps": 3},
        {"aux_weight": 0.2},
    ],
)
def test_every_ablation_of_metaner_changes_the_base(ablation, fitted, sources):
    full = fitted("metaner")
    base = method("metaner")(**{**QUICK, **ablation}).fit(sources, Budget(2))
    assert all(bool(p.isfinite().all()) for p in base.model.parameters())
    assert not same(base.model.encoder, full.model.encoder)
    assert (base.model.head is None) == (ablation.get("adversary") is False)


def test_metaner_without_meta_learning_and_adversary_equals_finetuning(sources):
    """FineTuning with MetaNER's settings draws the same tasks."""
    bare = method("metaner")(**QUICK, meta=False, adversary=False)
    settings = bare.config.model_dump(include=set(method("finetuning").Config.model_fields))
    plain = method("finetuning")(**settings)
    assert same(*(m.fit(sources, Budget(3)).model for m in (bare, plain)))


def test_held_out_sentences_are_removed_from_the_sources():
    corpus = bundled_corpus("drug")
    held_out = [*corpus.split("train")[:7], *corpus.split("test")]
    (domain,) = source_domains(group_by_domain([corpus]), held_out)
    assert domain.removed >= 7
    assert len(domain.sentences) + domain.removed == 160
    assert not {s.tokens for s in domain.sentences} & {s.tokens for s in held_out}
    assert domain.labels == LabelSet(("Drug",))
    assert domain.sha256 == {"drug": corpus.sha256}


# --- the files of a method ------------------------------------------------------------------------


RECIPES = sorted((PACKAGE / "reproduce" / "tables" / "recipes").iterdir())


def method_of(recipe: Path) -> str:
    """The method of a recipe: hgda-nes for ``hgda-nes.toml``, metaner for ``metaner-ace2005.toml``."""
    fitting = [n for n in methods() if recipe.stem == n or recipe.stem.startswith(f"{n}-")]
    assert fitting, f"{recipe.name} names no method"
    return max(fitting, key=len)


def commands(recipe: Path) -> list[str]:
    """The commands at the start of a recipe; a backslash continues a line."""
    lines = recipe.read_text(encoding="utf-8").replace("\\\n#", " ").splitlines()
    return [line[2:] for line in lines if line.startswith("# adaptner ")]


@every_method
def test_method_has_a_recipe(name):
    recipe = PACKAGE / "reproduce" / "tables" / "recipes" / f"{name}.toml"
    assert recipe in RECIPES
    assert method_of(recipe) == name
    assert tomllib.loads(recipe.read_text(encoding="utf-8"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_recipe_starts_with_a_valid_command_and_has_valid_settings(recipe):
    name = method_of(recipe)
    assert make_method(name, recipe).name == name
    opening = recipe.read_text(encoding="utf-8").splitlines()[0]
    assert opening.startswith(f"# adaptner pretrain --method {name} --config {recipe.name} ")
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for call in commands(recipe):
        verb, *arguments = shlex.split(call)[1:]
        verbs[verb].make_context(verb, expand_list_options(arguments))  # raises for unknown options


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_recipe_explains_data_that_is_not_shared(recipe, shared_data):
    """The data of its command is in the shared folder, or the recipe says where to put it."""
    words = [w for call in commands(recipe) for w in shlex.split(call) if "/" in w]
    absent = {w.partition("/")[0] for w in words if not (shared_data / w).is_dir()}
    text = recipe.read_text(encoding="utf-8")
    for place in absent:
        assert f"{place}/" in text.partition("Put each")[2], f"{recipe.name}: {place}"
        assert "requires a licence" in text


@every_metaner
def test_recipe_of_metaner_has_the_defaults(name):
    recipe = PACKAGE / "reproduce" / "tables" / "recipes" / f"{name}.toml"
    assert make_method(name, recipe).config == method(name)().config


def test_unknown_kind_of_encoder_is_refused():
    with pytest.raises(BadConfiguration, match=r"^encoder: .*quantum"):
        method("hgda")(encoder={"kind": "quantum"})


@pytest.mark.parametrize("name", ["named", "crossdomain-lm"])
def test_methods_for_recurrent_encoders_refuse_transformers(name):
    with pytest.raises(BadConfiguration, match=r"^encoder"):
        method(name)(encoder={"kind": "transformer", "name": "minilm"})


def test_another_kind_of_encoder_replaces_all_encoder_settings():
    config = method("hgda")(encoder={"kind": "transformer", "name": "minilm"}).config
    assert config.encoder == TransformerConfig(name="minilm")
    mean = method("hgda")(config, encoder={"subwords": "mean"}).config.encoder
    assert mean == TransformerConfig(name="minilm", subwords="mean")
    assert method("hgda")(config, encoder={"kind": "recurrent"}).config == method("hgda")().config


def test_transformer_recipes_have_the_values_of_the_paper():
    for name in ("hgda", "hgda-nes", "in-domain"):
        config = make_method(
            name, PACKAGE / "reproduce" / "tables" / "recipes" / f"{name}-bert.toml"
        ).config
        encoder = config.encoder
        assert (encoder.kind, encoder.max_length, encoder.dropout) == ("transformer", 256, 0.2)
        assert config.tag_head == "softmax"
        assert config.adaptation == make_method(name, encoder="minilm").config.adaptation
        o = config.optimiser
        assert (o.name, o.momentum, o.weight_decay, o.clip) == ("sgd", 0.9, 1e-6, 5.0)
        if name != "in-domain":
            plain = method(name)().config
            assert config.scaled_rate() == pytest.approx(1e-5 * (10 / 32) ** 0.5)  # eq. 3
            assert config.outer_optimiser().rate == config.scaled_rate()
            assert (config.sampling, config.weighting) == (plain.sampling, plain.weighting)


def test_bert_recipes_of_pdaln_share_encoder_rates_and_steps():
    """Values of PDALN, section 5.3."""
    folder = PACKAGE / "reproduce" / "tables" / "recipes"
    rows = [make_method(n, folder / f"{n}-bert.toml").config for n in ("pdaln", "finetuning")]
    base = make_method("d-shift", folder / "d-shift-bert.toml").config
    for config in rows:
        assert config.encoder == base.encoder
        assert config.optimiser == base.optimiser
        assert (config.encoder.max_length, config.encoder.frozen_layers) == (128, 0)
        tuning = config.adaptation
        assert (tuning.batch, tuning.steps, tuning.optimiser.rate) == (32, 1000, 5e-5)


@every_method
def test_method_has_a_page(name):
    page = ROOT / "docs" / "methods" / f"{name}.md"
    assert page.is_file()
    assert page.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("name", sorted(n for n in methods() if method(n).paper != "adaptner"))
def test_method_has_a_published_row(name):
    rows = [r for p in papers() for t in p.tables for r in t.rows if r.method_id == name]
    assert rows


def test_seed_determines_the_sample_of_a_source():
    sentences = [Sentence.from_tokens([str(n)]) for n in range(20)]
    whole = SourceDomain("a", LabelSet(("X",)), {"one": sentences, "two": sentences[:3]}, {})
    fewer = whole.subsample(5, seed=1)
    assert {name: len(own) for name, own in fewer.corpora.items()} == {"one": 5, "two": 3}
    assert set(fewer.corpora["one"]) <= set(sentences)
    assert fewer == whole.subsample(5, seed=1)
    assert fewer != whole.subsample(5, seed=2)
