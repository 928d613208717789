"""Bases know where their encoder and decoders come from, also those saved before they recorded it."""

from __future__ import annotations

import json

import pytest

from adaptner.corpora.sources import SourceDomain
from adaptner.methods import method
from adaptner.models.base import Base
from adaptner.models.installed import default_base
from adaptner.models.provenance import Provenance
from adaptner.training.budget import Budget
from adaptner.vectors.word_vectors import WordVectors

SMALL = {"encoder": {"hidden": 4, "char_cnn_filters": 4, "char_lstm": 0, "lexical_features": True}}
Made = dict[str, Base]


@pytest.fixture(scope="module")
def bases(sources: list[SourceDomain], vectors: WordVectors) -> Made:
    named, tuned = method("named")(**SMALL), method("finetuning")(**SMALL)
    first = tuned.fit(sources[:1], Budget(1), vectors=vectors)
    return {
        "sources": first,
        "decoders": named.fit(sources[1:2], Budget(1), start=first),
        "both": tuned.fit(sources[1:2], Budget(1), start=first),
    }


def test_encoder_of_named_comes_from_the_base_it_started_from(bases):
    found = bases["decoders"].provenance
    assert (found.method, found.sources) == ("named", ("Drug",))
    assert found.encoder_from == found.decoders_from == "sources"
    assert found.parent == bases["sources"].provenance


@pytest.mark.parametrize("name", ["sources", "decoders", "both"])
@pytest.mark.parametrize("recorded", [True, False])
def test_provenance_is_read_from_any_manifest(bases, name, recorded, tmp_path):
    bases[name].save(tmp_path / "base")
    file = tmp_path / "base" / "manifest.json"
    content = json.loads(file.read_text())
    assert "provenance" in content
    if not recorded:  # as folders were written before
        del content["provenance"]
        file.write_text(json.dumps(content))
    assert Base.load(tmp_path / "base").provenance == bases[name].provenance


def test_shipped_base_has_an_encoder_from_raw_text():
    found = default_base().provenance
    assert found.encoder_from == "raw text"
    assert found.decoders_from == "sources"
    assert found.sources == ("Disease", "Drug", "Gene", "Species")
    assert found.parent == Provenance(method="named")
