"""Saving and loading bases and taggers with subword vectors."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from adaptner.errors import VectorsMissing
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.reproduce.jobs.base_files import read_base, write_base
from adaptner.types import Sentence
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.word_vectors import WordVectors, read_vectors, write_vectors


@pytest.fixture(scope="module")
def subwords(vectors: WordVectors) -> WordVectors:
    """A third of the words have rows; the others use n-grams."""
    rng = np.random.default_rng(1)
    words = vectors.words[::3]
    table = FourBitTable.of(rng.normal(0, 0.3, (len(words), 16)))
    grams = NgramVectors(FourBitTable.of(rng.normal(0, 0.3, (300, 16))), 3, 5)
    return WordVectors(words, table, grams, {"made_by": "a test"})


@pytest.fixture(scope="module")
def base(fit, subwords: WordVectors) -> Base:
    return fit(3, vectors=subwords)


@pytest.fixture
def folder(base: Base, tmp_path: Path) -> Path:
    base.save(tmp_path / "base")
    return tmp_path / "base"


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.slow
def test_loaded_tagger_predicts_the_same(base, folder, adapted, texts, tmp_path):
    tagger = adapted(base)
    before = tagger.predict(texts)
    assert len(before[0]) > 5
    tagger.save(tmp_path / "in memory")
    adapted(Base.load(folder)).save(tmp_path / "loaded")
    for name in ("in memory", "loaded"):
        assert Tagger.load(tmp_path / name).predict(texts) == before
        assert files(tmp_path / name) == [
            "manifest.json", "vectors.safetensors", "weights.safetensors",
        ]  # fmt: skip
    assert os.path.samefile(folder / "vectors.safetensors", tmp_path / "loaded/vectors.safetensors")


def test_unknown_words_have_different_vectors(base):
    """Without n-grams, all unknown words would share one vector."""
    tokens = ["unheardly", "seldomness"]
    batch = base.batcher([[Sentence.from_tokens(tokens)]])
    states = base.model.encoder.words(batch.rows, batch.pieces)[0]
    assert not np.allclose(states[0], states[1])
    assert states.abs().sum(-1).min() > 0


def test_base_saved_again_has_the_same_bytes(base, folder, tmp_path):
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    Base.load(folder).save(tmp_path / "again")
    base.save(tmp_path / "anew")
    Base.load(folder).save(folder)
    for again in (tmp_path / "again", tmp_path / "anew", folder):
        assert {p.name: p.read_bytes() for p in again.iterdir()} == before


def test_saved_vectors_equal_the_given_file(fit, subwords, tmp_path):
    write_vectors(subwords, tmp_path / "own.safetensors")
    fit(1, vectors=read_vectors(tmp_path / "own.safetensors")).save(tmp_path / "base")
    saved = tmp_path / "base" / "vectors.safetensors"
    assert saved.read_bytes() == (tmp_path / "own.safetensors").read_bytes()


def test_trainable_vectors_have_no_ngrams(fit, subwords, adapted, texts, tmp_path):
    encoder = {"word_width": 16, "char_embedding": 4, "char_cnn_filters": 4, "char_lstm": 4}
    encoder |= {"hidden": 4, "tune_words": True}
    base = fit(2, vectors=subwords, encoder=encoder)
    base.save(tmp_path / "base")
    assert files(tmp_path / "base") == ["manifest.json", "weights.safetensors", "words.txt"]
    loaded = Base.load(tmp_path / "base")
    assert loaded.batcher.vectors.grams is None
    assert adapted(loaded).predict(texts) == adapted(base).predict(texts)


@pytest.mark.parametrize("cut", [True, False])
def test_missing_or_damaged_vectors_raise(folder, cut):
    path = folder / "vectors.safetensors"
    if cut:
        path.write_bytes(path.read_bytes()[:-8])
    else:
        path.unlink()
    with pytest.raises(VectorsMissing, match="changed" if cut else "missing"):
        Base.load(folder)


def test_transmitted_base_links_the_vectors_of_the_receiver(folder, tmp_path):
    sent = read_base(folder)
    assert set(sent) == {"manifest.json", "weights.safetensors"}
    write_base(tmp_path / "received", sent, folder)
    shutil.rmtree(folder)
    assert len(Base.load(tmp_path / "received").batcher.vectors.words) > 50
