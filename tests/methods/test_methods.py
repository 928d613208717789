"""The registry of methods, what each method needs to be complete, and that each one works."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import torch

import adaptner
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.own import own_corpus
from adaptner.errors import BadConfiguration, TooFewDomains, TooFewSentences, UnknownName
from adaptner.methods import method, methods
from adaptner.methods.configuration import configured
from adaptner.methods.method import Method, SourceDomain, source_domains
from adaptner.reproduce.tables import papers
from adaptner.training.budget import Budget
from adaptner.types import LabelSet

NAMES = ["hgda", "hgda-nes", "maml"]  # a new method adds its name here, in order

TINY = {"word_width": 16, "char_embedding": 8, "char_cnn_filters": 8, "char_lstm": 8, "hidden": 12}
QUICK = {"encoder": TINY, "k": 3, "tasks": 2, "adaptation": {"steps": 3, "epochs": 0}}
PACKAGE = Path(adaptner.__file__).parent
ROOT = Path(__file__).resolve().parents[2]

every_method = pytest.mark.parametrize("name", sorted(methods()))


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def sources() -> list[SourceDomain]:
    return source_domains(group_by_domain([own_corpus(n) for n in ("disease", "drug", "gene")]))


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
    [("hdga", "hgda"), ("HGDA-NES", ""), ("hgda_nes", "hgda-nes"), ("mamI", "maml")],
)
def test_an_unknown_method_names_the_nearest(given, near):
    with pytest.raises(UnknownName) as error:
        method(given)
    message = str(error.value)
    assert f"no method is called {given!r}" in message
    assert f"did you mean {near!r}" in message if near else True
    assert all(name in message for name in NAMES)


def test_a_name_that_resembles_none():
    with pytest.raises(UnknownName) as error:
        method("xxxxxxxx")
    assert "did you mean" not in str(error.value)


# --- configuration --------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"k": 0}, "k"),
        ({"k": "many"}, "k"),
        ({"tasks": -1}, "tasks"),
        ({"sampling": "some"}, "sampling"),
        ({"outer": "third"}, "outer"),
        ({"weighting": "softness"}, "weighting"),
        ({"base_rate": 0}, "base_rate"),
        ({"inner_rate": -1.0}, "inner_rate"),
        ({"aux_weight": float("nan")}, "aux_weight"),
        ({"no_such_field": 1}, "no_such_field"),
        ({"encoder": {"hidden": 0}}, "encoder.hidden"),
        ({"encoder": {"dropout": 1.0}}, "encoder.dropout"),
        ({"encoder": {"recurrent": "rnn"}}, "encoder.recurrent"),
        ({"encoder": {"char_lstm": 25}}, "encoder.char_lstm"),  # half a unit a direction
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
)
def test_a_bad_setting_is_named(name, settings, field):
    with pytest.raises(BadConfiguration) as error:
        method(name)(**settings)
    assert str(error.value).startswith(f"{field}: ")


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


def test_what_tells_the_methods_apart():
    """HGDA 3.2 and 3.3, MetaBioNER's Table 2: classifier, sampling, weighting."""
    told = {
        n: (c.classifier, c.sampling, c.weighting)
        for n, c in ((n, m().config) for n, m in methods().items())
        if n in ("hgda", "hgda-nes", "maml")
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


# --- at work --------------------------------------------------------------------------------------


@every_method
def test_fits_and_adapts(name, sources):
    chosen = method(name)(**QUICK)
    untrained = chosen.fit(sources, Budget(0))
    base = chosen.fit(sources, Budget(5))
    assert base.method == name
    assert base.facts["iterations"] == 5
    assert [s["domain"] for s in base.facts["sources"]] == ["Disease", "Drug", "Gene"]
    before, after = untrained.model.encoder.state_dict(), base.model.encoder.state_dict()
    assert any(not torch.equal(before[n], after[n]) for n in after)
    target = own_corpus("cellline")
    tagger = chosen.adapt(base, target.split("train")[:5], labels=target.labels, seed=1)
    assert tagger.labels == target.labels
    assert tagger.facts["steps"] == 3
    assert len(tagger.predict(["HeLa cells grew.", ""])) == 2


@every_method
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
    tagger = chosen.adapt(base, own_corpus("cellline").split("train")[:5])
    assert len(tagger.predict(["HeLa cells grew."])) == 1


@every_method
def test_too_few_domains(name, sources):
    chosen = method(name)(**QUICK)
    least = 2 if chosen.config.classifier else 1
    with pytest.raises(TooFewDomains) as error:
        chosen.fit(sources[: least - 1], Budget(1))
    assert ("at least two" if least == 2 else "at least one") in str(error.value)
    chosen.fit(sources[:least], Budget(1))


@every_method
def test_too_few_sentences(name, sources):
    with pytest.raises(TooFewSentences, match="--k"):
        method(name)(**{**QUICK, "k": 500}).fit(sources, Budget(1))


def test_held_out_sentences_are_left_out():
    corpus = own_corpus("drug")
    held_out = [*corpus.split("train")[:7], *corpus.split("test")]
    (domain,) = source_domains(group_by_domain([corpus]), held_out)
    assert domain.removed >= 7
    assert len(domain.sentences) + domain.removed == 160
    assert not {s.tokens for s in domain.sentences} & {s.tokens for s in held_out}
    assert domain.labels == LabelSet(("Drug",))
    assert domain.sha256 == {"drug": corpus.sha256}


# --- the five artefacts of a method ---------------------------------------------------------------


@every_method
def test_its_file(name):
    assert (PACKAGE / "methods" / f"{name.replace('-', '_')}.py").is_file()


@every_method
def test_its_recipe(name):
    recipe = PACKAGE / "reproduce" / "recipes" / f"{name}.toml"
    assert recipe.is_file()
    assert tomllib.loads(recipe.read_text(encoding="utf-8"))
    assert configured(name, recipe).name == name
    opening = recipe.read_text(encoding="utf-8").splitlines()[0]
    assert opening.startswith("# adaptner ")  # the command that runs it
    assert f"--method {name}" in opening


@every_method
def test_its_page(name):
    page = ROOT / "docs" / "methods" / f"{name}.md"
    assert page.is_file()
    assert page.read_text(encoding="utf-8").startswith("# ")


@every_method
def test_its_published_row(name):
    rows = [r for p in papers() for t in p.tables for r in t.rows if r.method_id == name]
    assert rows


@every_method
def test_its_golden_test(name):
    golden = Path(__file__).with_name("test_golden.py")
    assert golden.is_file()
    assert f'"{name}"' in golden.read_text(encoding="utf-8")
