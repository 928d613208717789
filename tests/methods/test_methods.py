"""The registry of methods, what each method needs to be complete, and that each one works."""

from __future__ import annotations

import shlex
import tomllib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer

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
from adaptner.methods.named import NamedMethod
from adaptner.methods.self_train import most_confident
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.transformer.encoder import TransformerConfig
from adaptner.pretraining.from_sources import pretrain
from adaptner.reproduce.tables.published import papers
from adaptner.training.budget import Budget
from adaptner.types import Entity, LabelSet, Sentence
from adaptner.vectors.word_vectors import WordVectors

NAMES = [  # a new method adds its name here, in order
    "agg",
    "crossdomain-lm",
    "d-shift",
    "dann",
    "datnet",
    "finetuning",
    "hgda",
    "hgda-nes",
    "in-domain",
    "la-dtl",
    "maml",
    "metaner",
    "metaner-zero",
    "multi-cell",
    "multitask",
    "named",
    "pdaln",
    "self-train",
    "stm-elmo",
    "wpz",
]

TINY = {"word_width": 16, "char_embedding": 8, "char_cnn_filters": 8, "char_lstm": 8, "hidden": 12}
QUICK = {"encoder": TINY, "k": 3, "tasks": 2, "adaptation": {"steps": 3, "epochs": 0}}
PACKAGE = Path(adaptner.__file__).parent
ROOT = Path(__file__).resolve().parents[2]

every_method = pytest.mark.parametrize("name", sorted(methods()))


def those(kind: type[Method]) -> pytest.MarkDecorator:
    names = sorted(n for n, m in methods().items() if issubclass(m, kind))
    assert names
    return pytest.mark.parametrize("name", names)


every_meta_learner = those(MetaLearner)
every_metaner = those(MetaNER)
every_joint = those(JointMethod)
every_unadapted = those(UnadaptedMethod)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def sources() -> list[SourceDomain]:
    return source_domains(group_by_domain([bundled_corpus(n) for n in ("disease", "drug", "gene")]))


def target_of(chosen: Method) -> Corpus:
    """A target that the method takes: one of the sources' labels where it must be."""
    return bundled_corpus("gene" if not chosen.capabilities.new_labels else "cellline")


def adapted(
    chosen: Method, base: Base, sources: list[SourceDomain], seed: int = 1, size: int = 5
) -> Tagger:
    target = target_of(chosen)
    given = sources if chosen.capabilities.reads_sources else ()
    support = target.split("train")[:size]
    return chosen.adapt(base, support, labels=target.labels, sources=given, seed=seed)


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    mine, theirs = one.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[n], theirs[n]) for n in mine)


# --- the registry ---------------------------------------------------------------------------------


def test_the_registry_holds_exactly_these():
    assert list(methods()) == NAMES


@every_method
def test_a_method_says_what_it_is(name):
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
def test_an_unknown_method_names_the_nearest(given, near):
    with pytest.raises(UnknownName) as error:
        method(given)
    message = str(error.value)
    assert f"no method is called {given!r}" in message
    assert f"did you mean {near!r}" in message
    assert all(name in message for name in NAMES)


@pytest.mark.parametrize("name", ["xxxxxxxx", "HGDA-NES"])
def test_no_method_is_suggested_for_a_name_that_resembles_none(name):
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
def test_errors_of_bad_settings_begin_with_the_field(kind, cases):
    kinds = [m for m in methods().values() if issubclass(m, kind)]
    assert kinds
    for found in kinds:
        for settings, field in cases:
            with pytest.raises(BadConfiguration) as error:
                found(**settings)
            assert str(error.value).startswith(f"{field}: "), (found.name, settings)


@every_method
def test_settings_survive_a_trip_through_json(name):
    first = method(name)(**QUICK)
    again = method(name)(**first.config.model_dump(mode="json"))
    assert again.config == first.config


@every_method
def test_overrides_change_a_configuration_and_leave_the_rest(name):
    first = method(name)(**QUICK)
    second = method(name)(first.config, k=4)
    assert second.config == first.config.model_copy(update={"k": 4})


@every_method
def test_part_of_a_table_leaves_the_rest_of_it(name):
    plain = method(name)().config
    part = {"encoder": {"hidden": 7}, "optimiser": {"clip": 2.5}, "adaptation": {"batch": 9}}
    told = method(name)(**part).config
    for table, (field, value) in ((t, *f.items()) for t, f in part.items()):
        before = getattr(plain, table)
        assert getattr(told, table) == before.model_copy(update={field: value})


def test_what_tells_the_methods_apart():
    """HGDA 3.2 and 3.3, MetaBioNER's Table 2: classifier, sampling, weighting."""
    told = {
        n: (c.classifier, c.sampling, c.weighting)
        for n, c in ((n, m().config) for n, m in methods().items() if issubclass(m, MetaLearner))
    }
    assert told == {
        "hgda": (True, "all", "hardness"),
        "hgda-nes": (True, "entities", "uniform"),
        "maml": (False, "all", "uniform"),
    }


def test_rates_follow_equation_3():
    config = method("hgda")(k=8, base_rate=0.04, outer_rate=0.5).config
    assert config.scaled_rate() == pytest.approx(0.02)
    assert config.outer_optimiser().rate == 0.5


@every_metaner
def test_metaner_has_the_papers_values(name):
    """Section 5.1.2; GloVe's 300 numbers are the width of vectors drawn where none are given."""
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


def test_one_decoder_where_the_method_says_so():
    shared = {n for n, m in methods().items() if m().config.shape().shared}
    assert shared == {"agg", "d-shift", "metaner-zero", "pdaln", "self-train", "wpz"}


# --- at work --------------------------------------------------------------------------------------


@pytest.mark.slow
@every_method
def test_fits_and_adapts(name, sources):
    chosen = method(name)(**QUICK)
    untrained = chosen.fit(sources, Budget(0))
    base = chosen.fit(sources, Budget(5))
    assert base.method == name
    assert base.facts["iterations"] == (5 if chosen.trains_base else 0)
    assert base.facts["vectors"] == "random"
    assert [s["domain"] for s in base.facts["sources"]] == ["Disease", "Drug", "Gene"]
    assert same(untrained.model.encoder, base.model.encoder) != chosen.trains_base
    tagger = adapted(chosen, base, sources)
    assert tagger.method == name
    labels = target_of(chosen).labels.labels
    # one decoder over the labels of all
    if not chosen.capabilities.new_labels or name == "agg":
        assert set(tagger.labels.labels) == {"Disease", "Drug", "Gene", *labels}
    else:
        assert tagger.labels.labels == labels
    assert tagger.labels.scheme == chosen.config.scheme
    if not isinstance(chosen, NamedMethod):  # five sentences: φ alone, by steps of its own
        assert tagger.facts["steps"] == (3 if chosen.capabilities.adapts else 0)
    assert same(tagger.encoder, base.model.encoder) == isinstance(
        chosen, (UnadaptedMethod, NamedMethod)
    )
    assert len(tagger.predict(["HeLa cells grew.", ""])) == 2


@pytest.mark.slow
@every_method
def test_the_same_seed_gives_the_same(name, sources):
    chosen = method(name)(**QUICK)
    one, two, other = (chosen.fit(sources, Budget(2), seed=s) for s in (4, 4, 5))
    assert same(one.model, two.model)
    assert not same(one.model, other.model)
    first, again, third = (adapted(chosen, one, sources, seed=s) for s in (4, 4, 5))
    assert same(first, again)
    assert same(first, third) == isinstance(
        chosen, (UnadaptedMethod, NamedMethod)
    )  # nothing is drawn


@pytest.mark.slow
@every_method
def test_adapting_leaves_the_base_alone(name, sources):
    chosen = method(name)(**QUICK)
    base, untouched = (chosen.fit(sources, Budget(1)) for _ in range(2))
    adapted(chosen, base, sources)
    assert same(base.model, untouched.model)


@pytest.mark.slow
@every_method
def test_a_saved_base_is_adapted_alike(name, sources, tmp_path):
    chosen = method(name)(**QUICK)
    base = chosen.fit(sources, Budget(2))
    base.save(tmp_path)
    loaded = Base.load(tmp_path)
    assert (loaded.method, loaded.facts, loaded.model.shape) == (
        name,
        base.facts,
        chosen.config.shape(),
    )
    assert same(loaded.model, base.model)
    assert same(adapted(chosen, loaded, sources), adapted(chosen, base, sources))


@pytest.mark.slow
@every_method
def test_a_saved_tagger_finds_the_same(name, sources, tmp_path):
    chosen = method(name)(**QUICK)
    tagger = adapted(chosen, chosen.fit(sources, Budget(2)), sources)
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.method == name
    texts = [s.text for s in bundled_corpus("gene").split("test")]
    assert loaded.predict(texts) == tagger.predict(texts)


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("tune", [False, True])
def test_given_vectors(name, tune, sources):
    """Frozen ones, and tuned ones of which the sources and the target read only some."""
    words = [s.tokens for d in sources for s in d.sentences]
    words += [s.tokens for s in bundled_corpus("species").split("train")]
    vectors = WordVectors.random(words, 16, np.random.default_rng(0))
    chosen = method(name)(**{**QUICK, "encoder": {**TINY, "tune_words": tune}})
    base = chosen.fit(sources, Budget(2), vectors=vectors)
    assert base.facts["vectors"] == "given"
    assert base.batcher.vectors.words == vectors.words
    tagger = adapted(chosen, base, sources)
    assert tagger.batcher.vectors.words == vectors.words
    assert len(tagger.predict(["HeLa cells grew."])) == 1


@pytest.mark.slow
@every_method
def test_a_whole_run_in_a_folder(name, tmp_path):
    """Also where nothing is learnt: a finished run is known as one, and may be made again."""
    chosen = method(name)(**QUICK)
    corpora = [bundled_corpus(n) for n in ("disease", "drug")]
    first = pretrain(chosen, corpora, Budget(2), tmp_path / "run")
    for resume in (True, False):
        again = pretrain(chosen, corpora, Budget(2), tmp_path / "run", resume=resume)
        assert same(again.model, first.model)


@every_method
def test_bioes_inside_and_plain_entities_outside(name, sources):
    chosen = method(name)(**{**QUICK, "scheme": "bioes"})
    tagger = adapted(chosen, chosen.fit(sources, Budget(1)), sources)
    assert tagger.labels.scheme == "bioes"
    found = tagger.predict([s.text for s in bundled_corpus("gene").split("test")])
    assert {e.label for entities in found for e in entities} <= set(tagger.labels.labels)


@every_meta_learner
@pytest.mark.parametrize("outer", ["first", "second", "implicit"])
def test_every_outer_gradient_runs(name, outer, sources):
    chosen = method(name)(**{**QUICK, "outer": outer, "inner_steps": 2})
    base = chosen.fit(sources, Budget(1))
    assert all(bool(p.isfinite().all()) for p in base.model.parameters())


@every_method
def test_every_encoder_part_may_be_left_out(name, sources):
    bare = {**TINY, "char_cnn_filters": 0, "char_lstm": 0, "recurrent": "gru"}
    chosen = method(name)(**{**QUICK, "encoder": bare})
    base = chosen.fit(sources, Budget(1))
    assert len(adapted(chosen, base, sources).predict(["HeLa cells grew."])) == 1


@every_method
def test_too_few_domains(name, sources):
    chosen = method(name)(**QUICK)
    least = chosen.min_domains()
    assert least == (2 if name in ("hgda", "hgda-nes", "metaner", "metaner-zero") else 1)
    with pytest.raises(TooFewDomains) as error:
        chosen.fit(sources[: least - 1], Budget(1))
    assert ("at least two" if least == 2 else "at least one") in str(error.value)
    chosen.fit(sources[:least], Budget(1))


@every_method
def test_methods_that_draw_tasks_need_enough_sentences(name, sources):
    chosen = method(name)(**{**QUICK, "k": 500})
    with pytest.raises(TooFewSentences, match="--k") if chosen.trains_base else nullcontext():
        chosen.fit(sources, Budget(1))


@every_method
def test_methods_that_adapt_need_a_sentence(name, sources):
    chosen = method(name)(**QUICK)
    base = chosen.fit(sources, Budget(0))
    given = {
        "labels": bundled_corpus("gene").labels,
        "sources": sources if chosen.capabilities.reads_sources else (),
    }
    with nullcontext() if not chosen.capabilities.adapts else pytest.raises(TooFewSentences):
        assert chosen.adapt(base, [], **given).facts["sentences"] == 0


@every_method
def test_one_sentence_is_enough(name, sources):
    chosen = method(name)(**QUICK)
    tagger = adapted(chosen, chosen.fit(sources, Budget(0)), sources, size=1)
    assert all(bool(p.isfinite().all()) for p in tagger.parameters())


# --- which bases and targets a method takes -------------------------------------------------------


@every_unadapted
def test_a_heterogeneous_target_is_refused(name, sources):
    chosen = method(name)(**QUICK)
    base = chosen.fit(sources, Budget(0))
    target = bundled_corpus("cellline")
    for support, labels in ((target.split("train")[:5], None), ([], target.labels)):
        with pytest.raises(HeterogeneousTarget) as error:
            chosen.adapt(base, support, labels=labels)
        assert "CellLine" in str(error.value)
        assert "Disease, Drug, Gene" in str(error.value)


@every_unadapted
def test_decoders_of_each_domain_cannot_be_used_as_they_are(name, sources):
    chosen = method(name)(**{**QUICK, "decoders": "own"})
    with pytest.raises(HeterogeneousTarget, match="a decoder for each of its domains"):
        adapted(chosen, chosen.fit(sources, Budget(0)), sources)


@every_joint
def test_joint_methods_need_their_sources(name, sources):
    chosen = method(name)(**QUICK)
    base = chosen.fit(sources[:2], Budget(0))
    for given, found in ((), "none"), (sources, "Gene"):
        with pytest.raises(SourcesNeeded) as error:
            chosen.adapt(base, bundled_corpus("cellline").split("train")[:5], sources=given)
        assert f"sources given: {found}" in str(error.value)
        assert "(Disease, Drug)" in str(error.value)
    assert adapted(chosen, base, sources[:1]).facts["source_sentences"] == 160


@every_joint
def test_joint_methods_start_from_the_base_that_finetuning_makes(name, sources):
    base = method("finetuning")(**QUICK).fit(sources, Budget(1))
    tagger = adapted(method(name)(**QUICK), base, sources)
    assert (tagger.method, tagger.facts["base"]) == (name, "finetuning")


@every_method
def test_a_base_with_another_decoder_is_refused(name, sources):
    chosen = method(name)(**QUICK)
    other = method("finetuning" if name == "wpz" else "wpz")(**QUICK)
    with pytest.raises(
        IncompatibleMethod, match=f"{name} cannot adapt a base made by {other.name}"
    ):
        adapted(chosen, other.fit(sources, Budget(0)), sources)


def test_in_domain_takes_nothing_of_the_sources(sources):
    """One base or another, the tagger is the same: words and letters are the target's own."""
    chosen = method("in-domain")(**QUICK)
    first, second = (adapted(chosen, chosen.fit(s, Budget(3)), s) for s in (sources, sources[:1]))
    assert same(first, second)
    support = bundled_corpus("cellline").split("train")[:5]
    assert set(first.batcher.vectors.words) <= {
        w for s in support for t in s.tokens for w in (t, t.lower())
    }


def test_in_domain_refuses_vectors_that_know_the_sources(sources):
    vectors = WordVectors.random(
        (s.tokens for d in sources for s in d.sentences), 16, np.random.default_rng(0)
    )
    chosen = method("in-domain")(**QUICK)
    tuned = method("finetuning")(**{**QUICK, "encoder": {**TINY, "tune_words": True}})
    with pytest.raises(IncompatibleMethod, match="trained on the sources"):
        adapted(chosen, tuned.fit(sources, Budget(1), vectors=vectors), sources)
    frozen = method("finetuning")(**QUICK)
    adapted(chosen, frozen.fit(sources, Budget(1), vectors=vectors), sources)
    adapted(chosen, tuned.fit(sources, Budget(0), vectors=vectors), sources)


def test_dann_reads_unlabelled_text_and_none_of_its_labels(sources):
    chosen = method("dann")(**QUICK)
    base = chosen.fit(sources, Budget(1))
    train = bundled_corpus("cellline").split("train")

    def tagger(text: Any) -> Tagger:
        return chosen.adapt(base, train[:5], sources=sources, unlabelled=text, seed=1)

    labelled, bare = tagger(train), tagger([Sentence(s.text, s.token_spans) for s in train])
    assert same(labelled, bare)
    assert labelled.facts["unlabelled"] == 130
    without = tagger(())
    assert without.facts["unlabelled"] == 5  # the labelled sentences serve
    assert not same(labelled, without)
    assert same(tagger([Sentence("", ()), *train]), labelled)


def test_without_its_adversary_dann_is_multitask(sources):
    base = method("finetuning")(**QUICK).fit(sources, Budget(1))
    quiet = {**QUICK, "adaptation": {**QUICK["adaptation"], "aux_weight": 0.0}}
    dann, multitask = (
        adapted(method(name)(**settings), base, sources)
        for name, settings in (("dann", quiet), ("multitask", QUICK))
    )
    assert same(dann, multitask)


@pytest.mark.parametrize("name", ["crossdomain-lm", "self-train", "stm-elmo"])
def test_jias_methods_need_their_sources(name, sources):
    chosen = method(name)(**QUICK)
    base = chosen.fit(sources, Budget(0))
    with pytest.raises(SourcesNeeded, match="sources given: none"):
        chosen.adapt(base, bundled_corpus("gene").split("train")[:5])


@pytest.mark.parametrize(
    "name", sorted(n for n, m in methods().items() if m.capabilities.zero_shot)
)
def test_zero_shot_needs_no_label_and_reads_none(name, sources):
    """The labels of the text may be any, also such as the sources do not have."""
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


def test_methods_that_need_labels_say_so():
    with pytest.raises(UsageError, match="finetuning needs labelled sentences") as error:
        without_labels(method("finetuning")())
    named = "crossdomain-lm, d-shift, dann, metaner-zero, multi-cell, pdaln, self-train, stm-elmo"
    assert named in str(error.value)


def test_dann_without_labels_needs_its_adversary():
    with pytest.raises(BadConfiguration, match="zero_shot needs aux_weight"):
        method("dann")(adaptation={"zero_shot": True, "aux_weight": 0})


def test_self_training_takes_the_surest_sentences():
    text = [Sentence.from_tokens(["a", "b"]) for _ in range(5)]
    sure, less, unsure = (Entity(0, 1, "X", score) for score in (0.9, 0.8, 0.3))
    found = [[unsure], [], [sure, less], [sure], [sure, unsure]]
    chosen = most_confident(text, found, 0.5)
    assert [s.entities for s in chosen] == [
        (Entity(0, 1, "X"), Entity(0, 1, "X")),
        (Entity(0, 1, "X"),),
    ]
    assert most_confident(text, [[] for _ in text], 0.5) == text


def test_wpz_without_retraining_takes_means_only(sources):
    chosen = method("wpz")(**QUICK, retrain=False)
    base = chosen.fit(sources, Budget(1))
    tagger = adapted(chosen, base, sources)
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
def test_every_ablation_of_metaner_learns_and_differs(ablation, sources):
    full = method("metaner")(**QUICK).fit(sources, Budget(3))
    base = method("metaner")(**{**QUICK, **ablation}).fit(sources, Budget(3))
    assert all(bool(p.isfinite().all()) for p in base.model.parameters())
    assert not same(base.model.encoder, full.model.encoder)
    assert (base.model.head is None) == (ablation.get("adversary") is False)


def test_metaner_without_meta_learning_and_adversary_is_plain_learning(sources):
    """The same draws, the same steps as FineTuning's in MetaNER's settings."""
    bare = method("metaner")(**QUICK, meta=False, adversary=False)
    told = bare.config.model_dump(include=set(method("finetuning").Config.model_fields))
    plain = method("finetuning")(**told)
    assert same(*(m.fit(sources, Budget(3)).model for m in (bare, plain)))


def test_held_out_sentences_are_left_out():
    corpus = bundled_corpus("drug")
    held_out = [*corpus.split("train")[:7], *corpus.split("test")]
    (domain,) = source_domains(group_by_domain([corpus]), held_out)
    assert domain.removed >= 7
    assert len(domain.sentences) + domain.removed == 160
    assert not {s.tokens for s in domain.sentences} & {s.tokens for s in held_out}
    assert domain.labels == LabelSet(("Drug",))
    assert domain.sha256 == {"drug": corpus.sha256}


# --- the five artefacts of a method ---------------------------------------------------------------


@every_method
def test_its_file_or_folder_has_its_name(name):
    assert method(name).__module__.split(".")[2] == name.replace("-", "_")


RECIPES = sorted((PACKAGE / "reproduce" / "tables" / "recipes").iterdir())


def method_of(recipe: Path) -> str:
    """``hgda-nes.toml`` is that of hgda-nes, ``metaner-ace2005.toml`` one more of metaner."""
    fitting = [n for n in methods() if recipe.stem == n or recipe.stem.startswith(f"{n}-")]
    assert fitting, f"{recipe.name} names no method"
    return max(fitting, key=len)


def commands(recipe: Path) -> list[str]:
    """The calls a recipe opens with; a backslash leads on to the next line."""
    lines = recipe.read_text(encoding="utf-8").replace("\\\n#", " ").splitlines()
    return [line[2:] for line in lines if line.startswith("# adaptner ")]


@every_method
def test_its_recipe(name):
    recipe = PACKAGE / "reproduce" / "tables" / "recipes" / f"{name}.toml"
    assert recipe in RECIPES
    assert method_of(recipe) == name
    assert tomllib.loads(recipe.read_text(encoding="utf-8"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_a_recipe_opens_with_its_command_and_is_taken(recipe):
    name = method_of(recipe)
    assert make_method(name, recipe).name == name
    opening = recipe.read_text(encoding="utf-8").splitlines()[0]
    assert opening.startswith(f"# adaptner pretrain --method {name} --config {recipe.name} ")
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for call in commands(recipe):
        verb, *arguments = shlex.split(call)[1:]
        verbs[verb].make_context(
            verb, expand_list_options(arguments)
        )  # refuses options it does not know


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_a_recipe_says_where_licensed_data_must_be_put(recipe, shared_data):
    """What its command reads is in the shared folder, or the recipe says how it comes to be there."""
    words = [w for call in commands(recipe) for w in shlex.split(call) if "/" in w]
    absent = {w.partition("/")[0] for w in words if not (shared_data / w).is_dir()}
    text = recipe.read_text(encoding="utf-8")
    for place in absent:
        assert f"{place}/" in text.partition("Put each")[2], f"{recipe.name}: {place}"
        assert "requires a licence" in text


@every_metaner
def test_the_recipe_of_metaner_has_its_defaults(name):
    recipe = PACKAGE / "reproduce" / "tables" / "recipes" / f"{name}.toml"
    assert make_method(name, recipe).config == method(name)().config


def test_an_encoder_of_no_known_kind():
    with pytest.raises(BadConfiguration, match=r"^encoder: .*quantum"):
        method("hgda")(encoder={"kind": "quantum"})


@pytest.mark.parametrize("name", ["named", "crossdomain-lm"])
def test_methods_of_one_encoder_refuse_another(name):
    with pytest.raises(BadConfiguration, match=r"^encoder"):
        method(name)(encoder={"kind": "transformer", "name": "minilm"})


def test_another_kind_of_encoder_takes_the_place_of_all_settings_of_the_first():
    config = method("hgda")(encoder={"kind": "transformer", "name": "minilm"}).config
    assert config.encoder == TransformerConfig(name="minilm")
    mean = method("hgda")(config, encoder={"subwords": "mean"}).config.encoder
    assert mean == TransformerConfig(name="minilm", subwords="mean")
    assert method("hgda")(config, encoder={"kind": "recurrent"}).config == method("hgda")().config


def test_the_recipes_of_transformers_have_the_papers_values():
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


def test_the_recipes_of_pdaln_with_bert_are_one_system():
    """All rows have one encoder, one rate and as many target steps; values of the paper's 5.3."""
    folder = PACKAGE / "reproduce" / "tables" / "recipes"
    rows = [make_method(n, folder / f"{n}-bert.toml").config for n in ("pdaln", "finetuning")]
    base = make_method("d-shift", folder / "d-shift-bert.toml").config
    for config in rows:
        assert config.encoder == base.encoder
        assert config.optimiser == base.optimiser
        assert (config.encoder.max_length, config.encoder.frozen_layers) == (128, 0)
        told = config.adaptation
        assert (told.batch, told.steps, told.optimiser.rate) == (32, 1000, 5e-5)


@every_method
def test_its_page(name):
    page = ROOT / "docs" / "methods" / f"{name}.md"
    assert page.is_file()
    assert page.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("name", sorted(n for n in methods() if method(n).paper != "adaptner"))
def test_its_published_row(name):
    rows = [r for p in papers() for t in p.tables for r in t.rows if r.method_id == name]
    assert rows


def test_a_sample_of_a_source_is_drawn_by_its_seed() -> None:
    sentences = [Sentence.from_tokens([str(n)]) for n in range(20)]
    whole = SourceDomain("a", LabelSet(("X",)), {"one": sentences, "two": sentences[:3]}, {})
    fewer = whole.subsample(5, seed=1)
    assert {name: len(own) for name, own in fewer.corpora.items()} == {"one": 5, "two": 3}
    assert set(fewer.corpora["one"]) <= set(sentences)
    assert fewer == whole.subsample(5, seed=1)
    assert fewer != whole.subsample(5, seed=2)
