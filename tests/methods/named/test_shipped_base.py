"""The base of the package: its contents, and the minimum F1 of its taggers."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import pytest
import torch
from typer.testing import CliRunner

import adaptner
from adaptner.adaptation.confidence.calibration import CalibrationConstants
from adaptner.cli.main import app
from adaptner.corpora.bundled import bundled_corpus
from adaptner.episodes import draw_sentences
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.models.installed import DEFAULT, base_folder, default_base, installed_bases
from adaptner.types import Sentence

MOST_MEGABYTES = 75


@pytest.fixture(scope="module")
def base() -> Base:
    torch.set_num_threads(1)
    return default_base()


def without_terms(base: Base) -> Base:
    """The base as it is for a label that no terminology knows."""
    return replace(base, dictionary=None, raw_sentences=[])


def f1(base: Base, corpus: str, size: int, seed: int, **options: object) -> float:
    target = bundled_corpus(corpus)
    support, test = draw_sentences(target.split("train"), size, seed), target.split("test")
    tagger = adaptner.adapt(support, base, labels=target.labels.labels, **options)
    found = tagger.predict_sentences([Sentence(s.text, s.token_spans) for s in test])
    return score_entities([s.entities for s in test], found).overall.f1


def test_shipped_base_is_installed_and_small(base):
    (found,) = [b for b in installed_bases() if b.name == DEFAULT]
    assert not found.problem
    assert found.megabytes <= MOST_MEGABYTES
    folder = base_folder(DEFAULT)
    assert {p.name for p in folder.iterdir()} >= {"manifest.json", "card.md", "recipe.sh"}
    assert base.method == "named"
    assert base.model.domains == ("Disease", "Drug", "Gene", "Species")
    assert base.batcher.vectors.directions is not None
    assert base.label_probes is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("corpus", "least"),
    # two thirds of what it had when it was made
    [("cellline", 0.58), ("disease", 0.55), ("drug", 0.62), ("gene", 0.59), ("species", 0.54)],
)
def test_five_sentences_make_a_tagger_worth_using(base, corpus, least):
    assert mean(f1(base, corpus, 5, seed) for seed in range(3)) > least


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["disease", "drug", "gene", "species"])
def test_source_decoders_raise_f1(base, corpus):
    """13 to 24 points when it was made, where no terminology knows the label."""
    base = without_terms(base)
    bare = base.of_domains(())
    gains = [f1(base, corpus, 5, seed) - f1(bare, corpus, 5, seed) for seed in range(3)]
    assert mean(gains) > 0.05


@pytest.mark.slow
def test_fine_tuned_encoder_raises_f1(base):
    """1 to 6 points when it was made; its sources are none of these corpora."""
    base = without_terms(base)
    first = replace(base, fine_tuned_encoder=None)
    pairs = [(c, seed) for c in ("disease", "drug", "gene", "species") for seed in range(3)]
    assert mean(f1(base, c, 5, seed) - f1(first, c, 5, seed) for c, seed in pairs) > 0.01


def test_estimate_is_higher_for_known_labels(base):
    """Known labels have separate calibration constants (``trust-known.json``)."""
    base = without_terms(base)
    target = bundled_corpus("gene")
    support = draw_sentences(target.split("train"), 5, 0)
    known = adaptner.adapt(support, base, labels=target.labels.labels)
    without = adaptner.adapt(support, base.of_domains(()), labels=target.labels.labels)
    constants = CalibrationConstants.of(base_folder(DEFAULT), "sources")
    assert constants != CalibrationConstants.of(base_folder(DEFAULT))
    assert known.calibration.slope == pytest.approx(constants.scores[1])
    assert without.calibration.slope != known.calibration.slope
    assert known.assessment is not None
    assert without.assessment is not None
    assert known.assessment.overall.f1 > without.assessment.overall.f1


def test_new_label_is_adapted_as_without_sources(base):
    base = without_terms(base)
    assert f1(base, "cellline", 20, 0) == f1(base.of_domains(()), "cellline", 20, 0)


@pytest.mark.slow
def test_more_sentences_raise_f1(base):
    base = without_terms(base)
    few, many = (mean(f1(base, "cellline", n, seed) for seed in range(3)) for n in (5, 50))
    assert many > few + 0.1
    assert many > 0.7


def test_label_name_finds_mentions_before_the_first_example(base):
    blank = [Sentence(s.text, s.token_spans) for s in bundled_corpus("species").split("train")[:5]]
    tagger = adaptner.adapt(blank, base, labels=["Disease"])
    text = "The patient had asthma and diabetes."
    (found,) = tagger.predict([text])
    assert {"asthma", "diabetes"} & {text[e.start : e.end] for e in found}


def test_command_line_adapts_to_a_label_name_without_mentions(base, tmp_path):
    file = tmp_path / "none.jsonl"
    file.write_text('{"text": "Nothing is marked here.", "entities": []}\n' * 2, encoding="utf-8")
    runner = CliRunner()
    refused = runner.invoke(app, ["adapt", str(file), "-o", str(tmp_path / "model")])
    assert refused.exit_code == 1
    call = ["adapt", str(file), "--label", "Disease", "-o", str(tmp_path / "model")]
    answer = runner.invoke(app, call)
    assert answer.exit_code == 0, answer.output
    assert "has no mention of 'Disease'" in answer.output
    assert "cannot be estimated" in answer.output.replace("\n", " ")
    assert adaptner.load(tmp_path / "model").labels.labels == ("Disease",)
