"""Taggers refer to the terminologies of a base by their checksum."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from adaptner.adaptation.dictionary_tagger import dictionary_tagger
from adaptner.errors import AdaptnerError, TermsMissing
from adaptner.models import installed
from adaptner.models.base import Base
from adaptner.models.installed import find_terms
from adaptner.models.storage import read_manifest
from adaptner.models.tagger import Tagger
from adaptner.models.terms import TERMS_FILE
from adaptner.nn.model import tag_scores
from adaptner.types import Sentence

TEXTS = ["A stent, an artificial heart valve and HeLa cells.", "Laser ablation of K562.", ""]
LABELS = ["MedicalDevice", "Procedure", "CellLine"]


@pytest.fixture
def moved(terms_base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A base in a folder of its own; the folders of installed bases are empty."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(installed, "_PACKAGE", tmp_path / "package")
    assert terms_base.folder is not None
    shutil.copytree(terms_base.folder, tmp_path / "base")
    return tmp_path / "base"


def test_saved_tagger_has_the_checksum_but_not_the_terminologies(moved, tmp_path):
    base = Base.load(moved)
    tagger = dictionary_tagger(base, LABELS)
    tagger.save(tmp_path / "model")
    reference = read_manifest(tmp_path / "model", "tagger").terms
    assert reference is not None
    assert reference.checksum == read_manifest(moved, "base").files[TERMS_FILE]
    assert list(reference.kinds) == LABELS
    assert not (tmp_path / "model" / TERMS_FILE).exists()
    assert find_terms(reference) == moved / TERMS_FILE
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.predict(TEXTS) == tagger.predict(TEXTS)
    assert any(loaded.predict(TEXTS))


def test_tagger_finds_its_terminologies_in_an_installed_base(moved, tmp_path):
    tagger = dictionary_tagger(Base.load(moved), LABELS)
    tagger.save(tmp_path / "model")
    expected = tagger.predict(TEXTS)
    (tmp_path / "data/adaptner/bases").mkdir(parents=True)
    moved.rename(tmp_path / "data/adaptner/bases/mine")
    assert Tagger.load(tmp_path / "model").predict(TEXTS) == expected


def test_tagger_without_its_terminologies_is_refused(moved, tmp_path):
    dictionary_tagger(Base.load(moved), LABELS).save(tmp_path / "model")
    moved.rename(tmp_path / "elsewhere")
    with pytest.raises(TermsMissing, match="in no installed base"):
        Tagger.load(tmp_path / "model")


def test_base_with_changed_terminologies_is_refused(moved):
    with open(moved / TERMS_FILE, "ab") as file:
        file.write(b"x")
    with pytest.raises(AdaptnerError, match=TERMS_FILE):
        Base.load(moved)


def test_scores_are_the_product_of_weights_with_states_and_features(terms_base):
    tagger = dictionary_tagger(terms_base, LABELS)
    sentences = [Sentence.from_tokens(t.split()) for t in ("a stent", "HeLa of the heart valve")]
    assert tagger.features is not None
    for scale in (0.0, 0.1):  # the dictionary alone, and with weights of states
        with torch.no_grad():
            generator = torch.Generator().manual_seed(1)
            of_states = tagger.decoder.weight[..., : tagger.encoder.width]
            of_states.copy_(scale * torch.randn(of_states.shape, generator=generator))
            batch, states = tagger.states(sentences)
            expected = tagger.decoder.tag_scores(states)
            features = tagger.features
            found = features.present(
                *features.spans([s.tokens for s in sentences]), [len(s) for s in sentences]
            )
            weight = tagger.decoder.weight[0, :, tagger.encoder.width :].T.numpy()
            of_terms = batch.arrange(found.times(weight))
            scores = tag_scores(tagger.encoder, tagger.decoder, batch, None, of_terms)
        torch.testing.assert_close(scores[batch.mask], expected[batch.mask])


def test_threads_find_what_one_finds_alone(terms_base):
    texts = [f"{text} word{i} and a laser{i % 7} or a stent" for i in range(8) for text in TEXTS]
    expected = [dictionary_tagger(terms_base, LABELS).predict([text])[0] for text in texts[:6]]
    tagger = dictionary_tagger(terms_base, LABELS)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda text: tagger.predict([text])[0], texts))
    assert found[:6] == expected
    assert found == tagger.predict(texts)
