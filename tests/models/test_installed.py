"""Bases by name: the package's and the user's, and what is said of those that cannot be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import adaptner
from adaptner.cli.main import app
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import FileMissing, UnknownBase
from adaptner.models import installed
from adaptner.models.installed import base_folder, installed_bases, load_base


@pytest.fixture
def mine(tmp_path: Path, frozen_base_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, with one good base in it; the package's folder beside it is empty."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(installed, "_PACKAGE", tmp_path / "package")
    folder = tmp_path / "data/adaptner/bases"
    shutil.copytree(frozen_base_folder, folder / "tiny")
    return folder


def test_name_and_folder_load_the_same_base(mine):
    by_name, by_folder = load_base("tiny"), load_base(mine / "tiny")
    assert by_name.model.domains == by_folder.model.domains
    sentences = bundled_corpus("species").split("train")[:3]
    texts = [s.text for s in bundled_corpus("species").split("test")[:5]]
    a, b = (adaptner.adapt(sentences, base) for base in ("tiny", mine / "tiny"))
    assert a.predict(texts) == b.predict(texts)


def test_base_of_the_user_hides_that_of_the_package(mine, tmp_path):
    shutil.copytree(mine / "tiny", tmp_path / "package/tiny")
    shutil.copytree(mine / "tiny", tmp_path / "package/other")
    assert [(b.name, b.folder) for b in installed_bases()] == [
        ("other", tmp_path / "package/other"),
        ("tiny", mine / "tiny"),
    ]


def test_existing_folder_hides_a_name(mine, tmp_path, monkeypatch):
    (tmp_path / "here/tiny").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert base_folder("tiny") == Path("tiny")


def test_error_for_an_unknown_name_lists_the_known_ones(mine):
    with pytest.raises(UnknownBase, match=r"'tinny'.*\n.*tiny"):
        base_folder("tinny")


def test_missing_folder_is_not_taken_for_a_name(mine):
    with pytest.raises(FileMissing):
        load_base("some/where")


def test_bases_are_listed(mine):
    (mine / "broken").mkdir()
    (mine / "broken/manifest.json").write_text("{")
    (mine / "not-a-base").mkdir()
    answer = CliRunner().invoke(app, ["bases", "--json"])
    broken, tiny = json.loads(answer.stdout)
    assert (broken["name"], tiny["name"]) == ("broken", "tiny")
    assert "damaged" in broken["problem"]
    assert tiny["problem"] is None
    assert tiny["domains"] == ["Disease", "Drug", "Gene"]
    size = sum(f.stat().st_size for f in (mine / "tiny").iterdir()) / 1e6
    assert tiny["megabytes"] == pytest.approx(size, abs=0.06)
    shown = CliRunner().invoke(app, ["bases"]).stdout
    assert "tiny" in shown
    assert "cannot be used" in shown


def test_list_says_if_no_base_is_installed(mine):
    shutil.rmtree(mine / "tiny")
    answer = CliRunner().invoke(app, ["bases"])
    assert answer.exit_code == 0
    assert "no base is installed" in answer.stdout
