"""``import adaptner``: seven names, nothing heavy until one is used, the same as the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny import TINY_ENCODER

import adaptner as an
from adaptner import errors
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import group_by_domain
from adaptner.methods.configuration import method_for_base
from adaptner.models.base import Base
from adaptner.types import Document, Entity, Sentence

TEXT = "HeLa cells met the HEK293T line."
LABELLED = Document(TEXT, (Entity(0, 4, "CellLine"), Entity(19, 26, "CellLine")))
LINE = (
    '{"text": "HeLa cells met the HEK293T line.", "entities": '
    '[{"start": 0, "end": 4, "label": "CellLine"}, {"start": 19, "end": 26, "label": "CellLine"}]}\n'
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from adaptner.compute import prepare_process
    from adaptner.methods import method
    from adaptner.pretraining.from_sources import pretrain
    from adaptner.training.budget import Budget

    prepare_process()
    learner = method("maml")(k=4, tasks=2, encoder=TINY_ENCODER, adaptation={"steps": 3})
    folder = tmp_path_factory.mktemp("api") / "base"
    pretrain(learner, [bundled_corpus("drug")], Budget(2), folder)
    return folder


def state(tagger: an.Tagger) -> dict[str, list[float]]:
    return {name: t.flatten().tolist() for name, t in tagger.state_dict().items()}


def test_the_public_names_are_these():
    assert sorted(an.__all__) == [
        "Entity",
        "Sentence",
        "Tagger",
        "adapt",
        "load",
        "read",
        "suggest",
        "tagger",
    ]
    assert dir(an) == sorted([*an.__all__, "__version__"])
    for name in an.__all__:
        assert getattr(an, name).__name__ == name
        assert getattr(an, name).__doc__
    with pytest.raises(AttributeError, match="nonsense"):
        _ = an.nonsense


@pytest.mark.processes
@pytest.mark.parametrize("name", ["__version__", "Entity", "Sentence"])
def test_importing_the_package_loads_no_heavy_library(name):
    code = (
        f"import sys, adaptner; adaptner.{name};"
        "sys.exit(any(m in sys.modules for m in ('torch', 'numpy', 'safetensors', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=300).returncode == 0


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert an.__version__ == version("adaptner")


def test_read_gives_labelled_sentences(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(LINE + '{"text": "One here. HeLa there.", "entities": []}\n')
    first, second, third = an.read(file)
    assert isinstance(first, Sentence)
    assert first.tokens == ("HeLa", "cells", "met", "the", "HEK293T", "line", ".")
    assert [e.text_in(first.text) for e in first.entities] == ["HeLa", "HEK293T"]
    assert (second.text, third.text) == ("One here.", "HeLa there.")
    assert an.read(str(file)) == [first, second, third]


def test_read_takes_a_format_for_an_unknown_ending(tmp_path):
    file = tmp_path / "mine.data"
    file.write_text("HeLa\tB-CellLine\ncells\tO\n")
    (sentence,) = an.read(file, "conll")
    assert sentence.tags == ("B-CellLine", "O")
    with pytest.raises(errors.UnknownFormat, match=r"mine\.data"):
        an.read(file)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", errors.EmptyFile),
        ('{"text": ""}\n', errors.EmptyFile),
        ("HeLa\n", errors.BadJson),
        (LINE.replace('"end": 4', '"end": 3'), errors.EntityOffTokens),
    ],
)
def test_read_errors_name_the_file(tmp_path, content, error):
    file = tmp_path / "mine.jsonl"
    file.write_text(content)
    with pytest.raises(error) as raised:
        an.read(file)
    assert raised.value.file == str(file)
    with pytest.raises(errors.FileMissing):
        an.read(tmp_path / "missing.jsonl")


def test_a_file_sentences_and_documents_adapt_to_the_same_tagger(base, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(LINE)
    sentences = an.read(file)
    taggers = [
        an.adapt(file, base),
        an.adapt(str(file), str(base)),
        an.adapt(sentences, base=base),
        an.adapt([LABELLED], base=Base.load(base)),
        an.adapt((s for s in sentences), base=base, seed=0),
    ]
    assert all(isinstance(t, an.Tagger) for t in taggers)
    assert all(state(t) == state(taggers[0]) for t in taggers[1:])
    assert state(an.adapt(file, base, seed=1)) != state(taggers[0])
    assert taggers[0].labels.labels == ("CellLine",)


def test_adapting_leaves_the_base_unchanged(base):
    start = Base.load(base)
    before = {n: t.clone() for n, t in start.model.state_dict().items()}
    an.adapt([LABELLED], start)
    assert all(before[n].equal(t) for n, t in start.model.state_dict().items())


def test_load_returns_the_saved_tagger(base, tmp_path):
    tagger = an.adapt([LABELLED], base)
    tagger.save(tmp_path / "model")
    again = an.load(tmp_path / "model")
    assert again.predict([TEXT, "", "  "]) == tagger.predict([TEXT, "", "  "])
    for found in again.predict([TEXT])[0]:
        assert isinstance(found, an.Entity)
        assert 0 <= found.start < found.end <= len(TEXT)
        assert 0 <= found.score <= 1


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([], errors.TooFewSentences),
        ([Document("Nothing here.")], errors.NoEntities),
        ([Document("HeLa", (Entity(0, 3, "CellLine"),))], errors.EntityOffTokens),
        ([Document("HeLa", (Entity(0, 9, "CellLine"),))], errors.BadEntity),
    ],
)
def test_adapt_refuses(base, given, error):
    with pytest.raises(error, match="What to do"):
        an.adapt(given, base)


# --- other methods, sources, unlabelled text --------------------------------------------------------

DRUG = Path(bundled_corpus("drug").folder)
SHORT = {"steps": 2, "epochs": 0}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["agg", "multitask", "dann"])
def test_a_joint_method_adapts_a_base_of_another(base, name):
    from adaptner.corpora.sources import source_domains
    from adaptner.methods import method

    domains = source_domains(group_by_domain([bundled_corpus("drug")]))
    chosen = method_for_base(name, Base.load(base))
    taggers = [
        an.adapt([LABELLED], base, method=name, sources=[str(DRUG)]),
        an.adapt([LABELLED], base, method=name, sources=DRUG),  # one needs no list
        an.adapt([LABELLED], base, method=name, sources=iter([f"Drug={DRUG}"])),
        an.adapt([LABELLED], base, method=name, sources=domains),
        an.adapt([LABELLED], base, method=chosen, sources=domains[0]),
    ]
    assert all(state(t) == state(taggers[0]) for t in taggers[1:])
    assert taggers[0].method == name
    assert taggers[0].facts["base"] == "maml"
    assert taggers[0].facts["source_sentences"] == 160  # train and dev
    assert taggers[0].facts["steps"] == 10  # the base's own epochs, of one sentence
    other = an.adapt(
        [LABELLED], base, method=method(name)(adaptation=SHORT), sources=[DRUG]
    )  # a Method is taken as it is
    assert other.facts["steps"] == 2


def test_unlabelled_text_may_be_files_texts_and_sentences(base, tmp_path):
    from adaptner.methods import method

    first, second = "HeLa cells died.", "K562 cells grew."
    text, lines, columns = (tmp_path / f"more{e}" for e in (".txt", ".jsonl", ".conll"))
    text.write_text(f"{first} {second}")
    cut = '"entities": [{"start": 0, "end": 3, "label": "Cut"}]'  # no fault here: it is ignored
    lines.write_text(f'{{"text": "{first}", {cut}}}\n{{"text": "{second}"}}\n')
    columns.write_text("HeLa\tB-X\ncells\tO\ndied\tO\n.\tO\n\nK562\tO\ncells\tO\ngrew\tO\n.\tO\n")
    labelled = Sentence.from_tokens(["HeLa", "cells", "died", "."], ["B-X", "O", "O", "O"])
    chosen = method("dann")(adaptation=SHORT)

    def with_text(*unlabelled: str | Path | Sentence) -> dict[str, list[float]]:
        tagger = an.adapt([LABELLED], base, method=chosen, sources=DRUG, unlabelled=unlabelled)
        assert tagger.facts["unlabelled"] == 2
        return state(tagger)

    one = with_text(text)
    assert with_text(str(text)) == one
    assert with_text(lines) == one
    assert with_text(columns) == one
    assert with_text(f"{first} {second}") == one
    assert with_text(first, second) == one
    assert with_text(labelled, second) == one
    assert with_text(labelled, Sentence("", ()), second) == one
    assert with_text(first, "The rats ate.") != one
    alone = an.adapt([LABELLED], base, method=chosen, sources=DRUG, unlabelled=str(text))
    assert state(alone) == one
    assert state(an.adapt([LABELLED], base, method=chosen, sources=DRUG)) != one


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"method": "nonsense"}, errors.UnknownName, "nonsense"),
        ({"method": "agg"}, errors.SourcesNeeded, r"given: none\n.*own domains \(Drug\)"),
        ({"method": "agg", "sources": [DRUG.parent / "gene"]}, errors.SourcesNeeded, "given: Gene"),
        (
            {"method": "agg", "sources": [f"Drug={DRUG.parent / 'gene'}"]},
            errors.SourcesNeeded,
            "Drug, with labels that the base does not know: Gene",
        ),
        ({"sources": [DRUG]}, errors.UsageError, "maml\n.*--method: agg, cross"),
        ({"unlabelled": ["Some text."]}, errors.UsageError, "maml\n.*--method: cross"),
        (
            {"method": "agg", "sources": [DRUG], "unlabelled": ["Some text."]},
            errors.UsageError,
            "--unlabelled has no use with agg",
        ),
        (
            {"method": "dann", "sources": [DRUG], "unlabelled": ["nowhere.txt"]},
            errors.FileMissing,
            "nowhere.txt",
        ),
        ({"method": "dann", "sources": ["nowhere"]}, errors.FileMissing, "nowhere"),
        ({"method": "wpz"}, errors.IncompatibleMethod, "wpz cannot adapt a base made by maml"),
        ({"method": "d-shift"}, errors.HeterogeneousTarget, "a decoder for each"),
    ],
)
def test_useless_and_missing_arguments_are_refused(base, options, error, says):
    with pytest.raises(error, match=says) as raised:
        an.adapt([LABELLED], base, **options)
    assert "What to do" in str(raised.value)


def test_source_without_training_sentences_is_refused(base, tmp_path):
    (tmp_path / "test.jsonl").write_text(LINE)
    with pytest.raises(errors.SourcesNeeded, match="Drug, with no train or dev sentence"):
        an.adapt([LABELLED], base, method="agg", sources=[f"Drug={tmp_path}"])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "nonsense"}, errors.UnknownName),
        ({"method": "agg"}, errors.SourcesNeeded),
        ({"method": "metaner", "sources": [DRUG]}, errors.UsageError),
    ],
)
def test_wrong_arguments_are_refused_before_a_base_is_loaded(monkeypatch, options, error):
    monkeypatch.setattr(
        "adaptner.api.inputs.default_base", lambda *device: pytest.fail("a base was loaded")
    )
    with pytest.raises(error) as raised:
        an.adapt([LABELLED], **options)
    if error is errors.SourcesNeeded:
        assert "(Disease, Drug, Gene, Species)" in str(raised.value)


# --- the settings a method adapts with --------------------------------------------------------------


def made_by(name: str, **settings: Any) -> Base:
    """As far as configurations go."""
    from adaptner.methods import method

    config = method(name)(**settings).config.model_dump(mode="json")
    return Base(None, None, name, config)


def test_own_method_of_a_base_keeps_all_settings():
    base = made_by("hgda", k=7, adaptation={"steps": 3, "optimiser": {"rate": 0.5}})
    for name in (None, "hgda"):
        chosen = method_for_base(name, base)
        assert chosen.name == "hgda"
        assert chosen.config.model_dump(mode="json") == base.config


def test_another_method_takes_over_the_common_adaptation_settings():
    settings = {"steps": 3, "batch": 4, "decoder": "mean", "optimiser": {"rate": 0.5}}
    base = made_by("hgda", k=7, tasks=9, adaptation=settings)
    chosen = method_for_base("metaner", base)
    assert type(chosen)(adaptation=base.config["adaptation"]).config == chosen.config
    assert chosen.config.k == 10  # its own
    joint = method_for_base("dann", base).config.adaptation
    assert (joint.steps, joint.batch, joint.decoder) == (3, 4, "fresh")  # it cannot but
    assert joint.optimiser.rate == 0.5
    assert (joint.source_tasks, joint.aux_weight) == (3, 0.8)  # its own, which a base has not


def test_settings_of_one_method_are_not_taken_over_by_another():
    """DANN's λ would make a DANN of MultiTask, and MultiTask's 0 would leave DANN without one."""
    assert method_for_base("multitask", made_by("dann")).config.adaptation.aux_weight == 0
    assert method_for_base("dann", made_by("multitask")).config.adaptation.aux_weight == 0.8
    assert (
        method_for_base("finetuning", made_by("dann", adaptation=SHORT)).config.adaptation.steps
        == 2
    )


def test_base_without_adaptation_settings_leaves_the_defaults():
    assert method_for_base("agg", Base(None, None, "maml")).name == "agg"


@pytest.mark.parametrize("name", [None, "dann"])
def test_settings_file_overrides_base_and_method(tmp_path, name):
    file = tmp_path / "settings.toml"
    file.write_text("adaptation = {steps = 9, optimiser = {rate = 0.25}}")
    base = made_by("hgda", adaptation={"steps": 3, "batch": 4, "optimiser": {"momentum": 0.5}})
    settings = method_for_base(name, base, file).config.adaptation
    assert (settings.steps, settings.optimiser.rate) == (9, 0.25)
    assert (settings.batch, settings.optimiser.momentum) == (4, 0.5)  # the rest stays


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kay = 3", "kay: "),
        ("config = 3", "config: "),
        ("self = 3", "self: "),
        ("adaptation = {source_tasks = 2}", "adaptation.source_tasks: "),
        ("adaptation = {steps = 0}", "adaptation.steps: "),
        ("steps 3", "TOML: "),
    ],
)
def test_error_names_the_bad_settings_file(tmp_path, text, says):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(errors.BadConfiguration) as raised:
        method_for_base("finetuning", made_by("dann"), file)
    assert str(raised.value).startswith(f"{file}: {says}")


def test_load_and_adapt_name_a_folder_that_is_no_model(base, tmp_path):
    with pytest.raises(errors.FileMissing, match="adaptner adapt"):
        an.load(tmp_path / "missing")
    with pytest.raises(errors.ModelUnreadable, match=r"no manifest\.json"):
        an.load(tmp_path)
    with pytest.raises(errors.ModelUnreadable, match="it is a base, not a tagger"):
        an.load(base)
    an.adapt([LABELLED], base).save(tmp_path / "model")
    with pytest.raises(errors.ModelUnreadable, match="it is a tagger, not a base"):
        an.adapt([LABELLED], tmp_path / "model")
    with pytest.raises(errors.FileMissing, match="adaptner pretrain"):
        an.adapt([LABELLED], tmp_path / "missing")


# --- label names alone ----------------------------------------------------------------------------


def test_tagger_of_label_names_needs_no_sentence(terms_base):
    text = "A stent, HeLa cells."
    for base in (terms_base, terms_base.folder, str(terms_base.folder)):
        (found,) = an.tagger(["MedicalDevice", "CellLine"], base).predict([text])
        assert [(e.text_in(text), e.label) for e in found] == [
            ("stent", "MedicalDevice"),
            ("HeLa", "CellLine"),
        ]
    assert an.tagger("MedicalDevice", terms_base).labels.labels == ("MedicalDevice",)


def test_suggest_works_with_a_tagger_of_label_names(terms_base):
    texts = ["A stent was put in.", "The rats ate.", "Needle biopsy of the stent."]
    assert len(an.suggest(an.tagger("MedicalDevice", terms_base), texts, 2)) == 2


def test_tagger_of_label_names_tags_files(terms_base, tmp_path):
    from adaptner.tagging import tag_files

    (tmp_path / "a.txt").write_text("A stent.")
    summary = tag_files(
        an.tagger("MedicalDevice", terms_base), tmp_path / "a.txt", tmp_path / "out.jsonl"
    )
    assert summary.documents == 1
    assert '"label": "MedicalDevice"' in (tmp_path / "out.jsonl").read_text()
