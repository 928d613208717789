"""Augmentation by the Python API, and files that it cannot read."""

from __future__ import annotations

from pathlib import Path

import pytest

import adaptner
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import (
    AdaptnerError,
    ModelUnreadable,
    UsageError,
)
from adaptner.models.base import Base

SHOWN = bundled_corpus("cellline").split("train")[:6]


@pytest.fixture
def quick_base(base, quick) -> Base:
    """The base, with a method that adapts in a few steps."""
    config = base.config | {"adaptation": quick.model_dump(mode="json") | {"steps": 5}}
    return Base(base.model, base.batcher, base.method, config, base.facts)


def test_unreadable_base_and_missing_file_are_refused(quick_base, tmp_path):
    with pytest.raises(ModelUnreadable):
        adaptner.adapt(SHOWN, tmp_path)
    with pytest.raises(AdaptnerError, match=r"nowhere\.jsonl"):
        adaptner.adapt(tmp_path / "nowhere.jsonl", quick_base)


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
