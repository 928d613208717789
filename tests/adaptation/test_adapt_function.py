"""The Python API: read, adapt, predict, save, load."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import adaptner
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import (
    AdaptnerError,
    EmptyFile,
    FileMissing,
    ModelUnreadable,
    NoEntities,
    UsageError,
)
from adaptner.models.base import Base
from adaptner.types import Document, Sentence

SHOWN = bundled_corpus("cellline").split("train")[:6]


@pytest.fixture
def quick_base(base, quick) -> Base:
    """The base, with a method that adapts in a few steps."""
    config = base.config | {"adaptation": quick.model_dump(mode="json") | {"steps": 5}}
    return Base(base.model, base.batcher, base.method, config, base.facts)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sentences.jsonl"
    with open(path, "w", encoding="utf-8") as out:
        for s in SHOWN:
            entities = [{"start": e.start, "end": e.end, "label": e.label} for e in s.entities]
            out.write(json.dumps({"text": s.text, "entities": entities}) + "\n")
    return path


def test_package_has_its_public_names():
    for name in ("Tagger", "adapt", "load", "read", "Entity", "Sentence"):
        assert hasattr(adaptner, name), name


def test_saved_tagger_predicts_as_before(quick_base, file, tmp_path):
    quick_base.save(tmp_path / "base")
    tagger = adaptner.adapt(file, tmp_path / "base", seed=2)
    tagger.save(tmp_path / "model")
    texts = ["HeLa cells were grown overnight. MCF-7 were not."]
    assert adaptner.load(str(tmp_path / "model")).predict(texts) == tagger.predict(texts)
    assert tagger.facts["steps"] == 5  # the base keeps the settings of its method
    assert tagger.facts["seed"] == 2


def test_file_sentences_and_documents_give_the_same_tagger(quick_base, file):
    documents = [Document(s.text, s.entities) for s in SHOWN]
    texts = [s.text for s in bundled_corpus("cellline").split("test")[:10]]
    results = [
        adaptner.adapt(given, quick_base).predict(texts)
        for given in (file, str(file), SHOWN, iter(SHOWN), documents, adaptner.read(file))
    ]
    assert all(r == results[0] for r in results)


def test_read_returns_sentences(file):
    sentences = adaptner.read(file)
    assert all(isinstance(s, Sentence) for s in sentences)
    assert [e.label for s in sentences for e in s.entities] == [
        e.label for s in SHOWN for e in s.entities
    ]


def test_errors_name_the_file(quick_base, file, tmp_path):
    with pytest.raises(FileMissing, match="no-such-base"):
        adaptner.adapt(file, tmp_path / "no-such-base")
    with pytest.raises(ModelUnreadable):
        adaptner.adapt(file, tmp_path)
    with pytest.raises(AdaptnerError, match=r"nowhere\.jsonl"):
        adaptner.adapt(tmp_path / "nowhere.jsonl", quick_base)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(EmptyFile, match=r"empty\.jsonl"):
        adaptner.adapt(tmp_path / "empty.jsonl", quick_base)
    with pytest.raises(NoEntities):
        adaptner.adapt([Document("Nothing is marked here.")], quick_base)


# --- augmentation ---------------------------------------------------------------------------------


def test_augmentation_adds_copies_and_records_their_number(quick_base):
    plain = adaptner.adapt(SHOWN, quick_base)
    more = adaptner.adapt(SHOWN, quick_base, augment=3)
    assert "augmented" not in plain.facts
    assert (more.facts["augmented"], more.facts["sentences"]) == (18, 24)
    assert more.labels == plain.labels


def test_augmentation_uses_mentions_of_any_corpus(quick_base):
    """The sources need not be domains of the base, as only their mentions are used."""
    one = [s for s in SHOWN if s.entities][:1]
    assert adaptner.adapt(one, quick_base, augment=2).facts["augmented"] == 0
    folder = Path(adaptner.__file__).parent / "corpora" / "bundled" / "cellline"
    more = adaptner.adapt(one, quick_base, augment=2, sources=folder)
    assert more.facts["augmented"] == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"augment": -1}, "--augment -1"),
        ({"augment": 2, "method": "d-shift"}, "--augment cannot be used with d-shift"),
        ({"augment": 2, "method": "pdaln"}, "augments the data itself"),
        ({"sources": "x"}, "--sources has no use"),
    ],
)
def test_useless_augmentation_is_refused(quick_base, given, said):
    with pytest.raises(UsageError, match=said):
        adaptner.adapt(SHOWN, quick_base, **given)


def test_augmentation_of_no_or_too_many_sentences_is_refused(quick_base):
    with pytest.raises(UsageError, match="--augment has no use with --zero-shot"):
        adaptner.adapt([], quick_base, zero_shot=True, augment=1)
    with pytest.raises(UsageError, match="1,002 labelled sentences"):
        adaptner.adapt([*SHOWN] * 167, quick_base, augment=1)
