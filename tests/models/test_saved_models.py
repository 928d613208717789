"""Saved bases and taggers load unchanged; damaged ones are refused with a reason."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import adaptner
from adaptner.errors import (
    FileMissing,
    ModelTooNew,
    ModelUnreadable,
    OutputExists,
    VectorsMissing,
)
from adaptner.files import digest
from adaptner.models.base import Base
from adaptner.models.storage import FORMAT, MANIFEST, WEIGHTS
from adaptner.models.tagger import Tagger
from adaptner.training.loop import TrainingRun
from adaptner.vectors.word_vectors import WordVectors

KINDS = pytest.mark.parametrize("kind", ["tuned", "frozen"])
FOLDERS = ["tuned-base", "frozen-base", "tuned-tagger", "frozen-tagger"]


@pytest.fixture(scope="module")
def saved(tuned_base, frozen_base_folder, adapted, tmp_path_factory) -> dict[str, Path]:
    """Folders by name: a base and a tagger with trainable and with frozen vectors."""
    folder = tmp_path_factory.mktemp("saved")
    tuned_base.save(folder / "tuned-base")
    shutil.copytree(frozen_base_folder, folder / "frozen-base")
    for kind in ("tuned", "frozen"):
        adapted(Base.load(folder / f"{kind}-base")).save(folder / f"{kind}-tagger")
    return {p.name: p for p in folder.iterdir()}


@pytest.fixture
def copy_of(saved, tmp_path):
    def copy(name: str) -> Path:
        return Path(shutil.copytree(saved[name], tmp_path / name))

    return copy


def load(folder: Path) -> Base | Tagger:
    return (Base if folder.name.endswith("base") else Tagger).load(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


# --- loading what was saved -----------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("in_memory", [True, False])
def test_loaded_tagger_equals_the_saved_one(
    fit, vectors, saved, adapted, texts, tmp_path, kind, in_memory
):
    """The tagger was adapted from a base in memory or from a loaded one."""
    if in_memory:
        base = fit(3, vectors=vectors if kind == "frozen" else None)
    else:
        base = Base.load(saved[f"{kind}-base"])
    tagger = adapted(base)
    before = tagger.predict(texts)
    assert len(before[0]) > 5
    tagger.save(tmp_path)
    loaded = Tagger.load(tmp_path)
    assert loaded.predict(texts) == before  # entities with scores
    assert (loaded.labels, loaded.facts, loaded.method) == (tagger.labels, tagger.facts, "hgda")


@pytest.mark.slow
@KINDS
def test_loaded_base_equals_the_saved_one(fit, vectors, saved, adapted, texts, kind):
    base = fit(3, vectors=vectors if kind == "frozen" else None)
    loaded = Base.load(saved[f"{kind}-base"])  # of an equal fit
    assert loaded.config == base.config
    assert loaded.facts == base.facts
    assert loaded.model.domains == ("Disease", "Drug", "Gene")
    mine, theirs = base.model.state_dict(), loaded.model.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[n], theirs[n]) for n in mine)
    assert adapted(loaded).predict(texts) == adapted(base).predict(texts)


@pytest.mark.parametrize("name", FOLDERS)
def test_saving_again_writes_the_same_bytes(saved, tmp_path, name):
    load(saved[name]).save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(saved[name])


@pytest.mark.parametrize("name", FOLDERS)
def test_saving_over_itself_changes_nothing(copy_of, name):
    folder = copy_of(name)
    before = contents(folder)
    load(folder).save(folder)
    assert contents(folder) == before
    assert [p.name for p in folder.parent.iterdir()] == [name]


def test_vectors_are_linked_not_copied(saved):
    for name in ("vectors.npy", "vectors.vocab.txt"):
        base, tagger = saved["frozen-base"] / name, saved["frozen-tagger"] / name
        assert os.path.samefile(base, tagger)
    assert not list(saved["tuned-tagger"].glob("vectors*"))


def test_tagger_loads_after_its_base_is_deleted(copy_of, adapted, texts, tmp_path):
    tagger = adapted(Base.load(copy_of("frozen-base")))
    tagger.save(tmp_path / "before")
    shutil.rmtree(tmp_path / "frozen-base")
    tagger.save(tmp_path / "after")  # the vectors are still in memory
    expected = tagger.predict(texts)
    for name in ("before", "after"):
        assert Tagger.load(tmp_path / name).predict(texts) == expected


def test_replacing_a_base_does_not_change_its_taggers(
    fit, vectors, copy_of, adapted, texts, tmp_path
):
    """The vectors of the tagger are links to those of the base, which must not be written into."""
    folder = copy_of("frozen-base")
    adapted(Base.load(folder)).save(tmp_path / "m")
    loaded = Tagger.load(tmp_path / "m")
    before = loaded.predict(texts)
    other = WordVectors(vectors.words[:50], np.ones((50, 16), dtype=np.float32))
    fit(2, vectors=other).save(folder)
    assert loaded.predict(texts) == before
    assert Tagger.load(tmp_path / "m").predict(texts) == before
    assert Base.load(folder).batcher.vectors.words == other.words


def test_words_with_unusual_characters_are_saved(fit, tmp_path):
    words = ("a\x85b", "\r", "x\u2028y", "\x1c", "naïve")
    odd = WordVectors(words, np.arange(80, dtype=np.float32).reshape(5, 16))
    for tune in (False, True):
        folder = tmp_path / f"{tune}"
        encoder = {"word_width": 16, "char_embedding": 4, "char_cnn_filters": 4, "char_lstm": 4}
        encoder |= {"hidden": 4, "tune_words": tune}
        fit(1, vectors=odd, encoder=encoder).save(folder)
        assert Base.load(folder).batcher.vectors.words == words


def test_tagger_is_not_saved_over_foreign_files(saved, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(OutputExists):
        Tagger.load(saved["tuned-tagger"]).save(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


# --- damaged folders ------------------------------------------------------------------------------

BASE_AND_TAGGER = pytest.mark.parametrize("name", ["tuned-base", "frozen-tagger"])


def assert_refused(folder: Path, error: type[Exception], message: str = ".") -> None:
    with pytest.raises(error, match=message) as raised:
        load(folder)
    assert str(folder) in str(raised.value)
    assert "What to do:" in str(raised.value)


@BASE_AND_TAGGER
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe"]
    + [b'{"format": %b}' % value for value in (b'"one"', b"2", b"3", b"5")],
)
def test_unreadable_manifest_is_refused(copy_of, name, content):
    folder = copy_of(name)
    (folder / MANIFEST).write_bytes(content)
    assert_refused(folder, ModelUnreadable, "damaged manifest.json")


def edit(folder: Path, **changes: object) -> None:
    manifest = json.loads((folder / MANIFEST).read_text()) | changes
    (folder / MANIFEST).write_text(json.dumps(manifest))


@BASE_AND_TAGGER
@pytest.mark.parametrize("number", [0, 1])
def test_manifest_of_a_format_before_2_is_refused(copy_of, name, number):
    """Format 1 had a classifier in place of the shape."""
    folder = copy_of(name)
    manifest = json.loads((folder / MANIFEST).read_text())
    del manifest["shape"]
    manifest |= {"format": number, "classifier": True}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert_refused(folder, ModelUnreadable, rf"written by an older version \(format {number}\)")


@BASE_AND_TAGGER
def test_manifest_of_a_newer_format_is_refused(copy_of, name):
    """Whatever else is in it."""
    folder = copy_of(name)
    (folder / MANIFEST).write_text(json.dumps({"format": FORMAT + 1}))
    assert_refused(folder, ModelTooNew, "upgrade adaptner")


@BASE_AND_TAGGER
def test_missing_or_empty_folder_is_refused(tmp_path, name):
    folder = tmp_path / name
    assert_refused(folder, FileMissing)
    folder.mkdir()
    assert_refused(folder, ModelUnreadable, "no manifest.json")
    folder.rmdir()
    folder.write_text("a file in place of the folder")
    assert_refused(folder, ModelUnreadable)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


@BASE_AND_TAGGER
@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (cut_off, "changed or cut off"),
        (flip_a_bit, "changed or cut off"),
        (Path.unlink, "missing"),
    ],
)
def test_damaged_weights_are_refused(copy_of, name, damage, problem):
    folder = copy_of(name)
    damage(folder / WEIGHTS)
    assert_refused(folder, ModelUnreadable, f"{WEIGHTS} is {problem}")


@BASE_AND_TAGGER
def test_weights_of_another_model_are_refused(copy_of, saved, name):
    folder = copy_of(name)
    other = "frozen-base" if name == "tuned-base" else "tuned-tagger"
    shutil.copy(saved[other] / WEIGHTS, folder)
    assert_refused(folder, ModelUnreadable, f"{WEIGHTS} is changed or cut off")


@BASE_AND_TAGGER
@pytest.mark.parametrize("without_encoder", [True, False])
def test_weights_of_another_shape_are_refused_if_the_checksum_fits(copy_of, name, without_encoder):
    """As after an edit by hand."""
    folder = copy_of(name)
    tensors = load_file(folder / WEIGHTS)
    if without_encoder:
        tensors = {n: t for n, t in tensors.items() if not n.startswith("encoder")}
    tensors |= {n: t[:, :-1].contiguous() for n, t in tensors.items() if n.endswith("bias")}
    save_file(tensors, folder / WEIGHTS)
    files = json.loads((folder / MANIFEST).read_text())["files"]
    edit(folder, files=files | {WEIGHTS: digest(folder / WEIGHTS)})
    assert_refused(folder, ModelUnreadable)


@BASE_AND_TAGGER
def test_manifest_without_files_is_refused(copy_of, name):
    folder = copy_of(name)
    edit(folder, files={})
    for path in [*folder.glob("v*"), *folder.glob("w*")]:
        path.unlink()
    assert_refused(folder, ModelUnreadable)


def test_tagger_without_a_domain_is_refused(copy_of):
    folder = copy_of("frozen-tagger")
    edit(folder, domains=[])
    assert_refused(folder, ModelUnreadable)


@pytest.mark.parametrize("name", ["frozen-base", "frozen-tagger"])
@pytest.mark.parametrize("file", ["vectors.npy", "vectors.vocab.txt"])
@pytest.mark.parametrize(("damage", "problem"), [(cut_off, "changed"), (Path.unlink, "missing")])
def test_missing_or_damaged_vectors_are_refused(copy_of, name, file, damage, problem):
    folder = copy_of(name)
    damage(folder / file)
    assert_refused(
        folder, VectorsMissing, rf"(?s){re.escape(file)} is {problem}.*make the base again"
    )


def test_missing_word_list_is_refused(copy_of):
    folder = copy_of("tuned-tagger")
    (folder / "words.txt").unlink()
    assert_refused(folder, ModelUnreadable, "words.txt is missing")


@pytest.mark.parametrize(
    ("kind", "name", "problem", "remedy"),
    [
        (Tagger, "tuned-base", "it is a base, not a tagger", "adaptner adapt"),
        (Base, "tuned-tagger", "it is a tagger, not a base", "adaptner pretrain"),
    ],
)
def test_base_is_no_tagger_and_a_tagger_no_base(saved, kind, name, problem, remedy):
    with pytest.raises(ModelUnreadable, match=problem) as error:
        kind.load(saved[name])
    assert str(saved[name]) in str(error.value)
    assert remedy in str(error.value)


def test_error_for_an_interrupted_run_says_how_to_continue(fit, tmp_path):
    folder = tmp_path / "run-base"
    fit(2, TrainingRun(folder, "x"))
    assert_refused(folder, ModelUnreadable, "interrupted .*--resume")


# --- no pickle ------------------------------------------------------------------------------------


def test_no_saved_file_is_a_pickle(fit, saved, tmp_path):
    fit(2, TrainingRun(tmp_path / "run", "x")).save(tmp_path / "run")
    files = [p for folder in [*saved.values(), tmp_path / "run"] for p in folder.iterdir()]
    assert {p.suffix for p in files} == {".json", ".jsonl", ".npy", ".safetensors", ".txt"}
    for path in files:
        content = path.read_bytes()
        if path.suffix == ".npy":
            assert content.startswith(b"\x93NUMPY")
            assert np.load(path, allow_pickle=False).dtype == np.float32
        elif path.suffix == ".safetensors":
            header = int.from_bytes(content[:8], "little")
            described = json.loads(content[8 : 8 + header])
            described.pop("__metadata__", None)
            ends = [tensor["data_offsets"][1] for tensor in described.values()]
            assert 8 + header + max(ends) == len(content)  # only header and tensors
        elif path.suffix == ".txt":
            content.decode()
        else:
            for line in content.splitlines() if path.suffix == ".jsonl" else [content]:
                json.loads(line)


def test_no_pickle_in_the_sources():
    wanted = re.compile(
        r"torch\.load\b|torch\.save\b|\bimport pickle|\bfrom pickle|cPickle|\bdill\b|\bshelve\b"
        r"|\bmarshal\b|joblib|allow_pickle\s*=\s*True|\.(?:dump|to)_?pickle"
    )
    root = Path(adaptner.__file__).parent
    files = sorted(root.rglob("*.py"))
    assert len(files) > 40
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if wanted.search(line)
    ]
    assert found == []
