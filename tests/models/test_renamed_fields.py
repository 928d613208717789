"""Folders and settings files written under older names of settings still load."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from typing import Any

import pytest

from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import BadConfiguration
from adaptner.methods import method, methods
from adaptner.methods.configuration import make_method
from adaptner.models import renamed_fields
from adaptner.models.base import Base
from adaptner.models.installed import DEFAULT, base_folder
from adaptner.models.renamed_fields import current_manifest, current_settings
from adaptner.models.storage import FORMAT, read_manifest
from adaptner.models.tagger import Tagger
from adaptner.nn.encoders.config import EncoderConfig, TransformerConfig
from adaptner.training.budget import Budget

ENCODER_FIELDS = EncoderConfig.model_fields.keys() | TransformerConfig.model_fields.keys()
OLD_NAMED = {
    "encoder": {"kind": "recurrent", "wide": True, "hidden": 8},
    "adaptation": {
        "optimiser": {"name": "sgd"},
        "penalty": 0.5,
        "move_penalty": 0.06,
        "name": 1.0,
        "states": 0.2,
        "borders": 0.1,
        "eager": 3.0,
        "sources": False,
        "firm": 2.0,
        "empty": 0.4,
        "text": 0.6,
        "text_most": 30,
        "tune_from": 90,
    },
}


def test_every_renamed_setting_exists_under_its_new_name_only():
    new = set(renamed_fields._ENCODER.values())
    assert new <= ENCODER_FIELDS
    assert not renamed_fields._ENCODER.keys() & ENCODER_FIELDS
    for name, table in renamed_fields._ADAPTATION.items():
        fields = type(method(name)().config.adaptation).model_fields.keys()
        assert set(table.values()) <= fields, name
        assert not table.keys() & fields, name


def test_old_settings_of_named_keep_their_values():
    config = method("named")(**current_settings("named", OLD_NAMED)).config
    found = config.adaptation.model_dump()
    assert found["optimiser"]["name"] == "sgd"  # `name` is renamed in its own table only
    assert {name: value for name, value in found.items() if name != "optimiser"} == {
        **type(config.adaptation)().model_dump(exclude={"optimiser"}),
        "penalty": 0.5,
        "transition_penalty": 0.06,
        "name_weight": 1.0,
        "state_share": 0.2,
        "border_weight": 0.1,
        "entity_bias": 3.0,
        "use_source_labels": False,
        "source_penalty_factor": 2.0,
        "empty_sentence_weight": 0.4,
        "unlabelled_weight": 0.6,
        "max_unlabelled": 30,
        "fine_tune_from": 90,
    }
    assert config.encoder.lexical_features


@pytest.mark.parametrize("name", sorted(methods()))
def test_current_settings_are_left_unchanged(name):
    settings = method(name)().config.model_dump(mode="json")
    assert current_settings(name, settings) == settings


def test_settings_file_may_use_old_names(tmp_path):
    file = tmp_path / "old.toml"
    file.write_text("[adaptation]\neager = 1.5\n[encoder]\nwide = false\n")
    config: Any = make_method("named", file).config
    assert config.adaptation.entity_bias == 1.5
    assert not config.encoder.lexical_features


def test_old_and_new_name_together_are_refused(tmp_path):
    file = tmp_path / "both.toml"
    file.write_text("[adaptation]\neager = 1.5\nentity_bias = 2.0\n")
    with pytest.raises(BadConfiguration, match=r"adaptation\.eager"):
        make_method("named", file)


def under_old_names(settings: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    old = {new: old for old, new in names.items()}
    return {old.get(name, name): value for name, value in settings.items()}


@pytest.mark.parametrize(("kind", "number"), [(Base, 2), (Base, 3), (Base, 4), (Tagger, 4)])
def test_folder_of_an_older_format_loads_unchanged(kind, number, sources, vectors, tmp_path):
    named = method("named")(encoder={"hidden": 4, "char_cnn_filters": 4, "char_lstm": 0})
    made: Any = named.fit(sources, Budget(1), vectors=vectors)
    if kind is Tagger:
        made = named.adapt(made, bundled_corpus("species").split("train")[:10])
    made.save(tmp_path / "new")
    shutil.copytree(tmp_path / "new", tmp_path / "old")
    file = tmp_path / "old" / "manifest.json"
    content = json.loads(file.read_text())
    content["encoder"] = under_old_names(content["encoder"], renamed_fields._ENCODER)
    assert "wide" in content["encoder"]
    if kind is Base:
        table = renamed_fields._ADAPTATION["named"]
        content["config"]["adaptation"] = under_old_names(content["config"]["adaptation"], table)
        content["config"]["encoder"] = content["encoder"]
        assert "eager" in content["config"]["adaptation"]
    assert current_manifest(content) == json.loads((tmp_path / "new/manifest.json").read_text())
    assert content["format"] == FORMAT
    file.write_text(json.dumps({**content, "format": number}))
    loaded = kind.load(tmp_path / "old")
    loaded.save(tmp_path / "again")
    again = {p.name: p.read_bytes() for p in (tmp_path / "again").iterdir()}
    assert again == {p.name: p.read_bytes() for p in (tmp_path / "new").iterdir()}


def test_shipped_base_is_read_under_todays_names():
    folder = base_folder(DEFAULT)
    manifest = read_manifest(folder, "base")
    assert manifest.encoder.lexical_features
    assert "entity_bias" in manifest.config["adaptation"]
    method("named")(**manifest.config)
