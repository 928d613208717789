"""Saved bases and taggers load unchanged, or the error says what is wrong with them."""

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
from adaptner.adaptation.fine_tune import FineTuneConfig, fine_tune
from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import (
    FileMissing,
    ModelTooNew,
    ModelUnreadable,
    OutputExists,
    VectorsMissing,
)
from adaptner.files import digest
from adaptner.models.base import Base
from adaptner.models.storage import FORMAT
from adaptner.models.tagger import Tagger
from adaptner.training.loop import TrainingRun
from adaptner.training.optimiser import OptimiserConfig
from adaptner.vectors.word_vectors import WordVectors

QUICK = FineTuneConfig(
    steps=60, epochs=0, encoder_scale=1.0, optimiser=OptimiserConfig(name="adamw", rate=5e-2)
)
TEXTS = [
    " ".join(s.text for s in bundled_corpus("species").split("test")[:30]),
    "",
    "No name here.",
]


def adapted(base: Base) -> Tagger:
    return fine_tune(base, bundled_corpus("species").split("train")[:30], QUICK)


@pytest.fixture(scope="module")
def saved(tuned_base, frozen_base_folder, tmp_path_factory) -> dict[str, Path]:
    """Folders by what is in them: a base and a tagger, with tuned and with frozen vectors."""
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


# --- there and back -------------------------------------------------------------------------------


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("kind", ["tuned", "frozen"])
def test_loaded_tagger_equals_the_saved_one(fit, vectors, saved, tmp_path, kind, in_memory):
    if in_memory:
        base = fit(3, vectors=vectors if kind == "frozen" else None)
    else:
        base = Base.load(saved[f"{kind}-base"])
    tagger = adapted(base)
    before = tagger.predict(TEXTS)
    assert len(before[0]) > 5
    tagger.save(tmp_path / "m")
    loaded = Tagger.load(tmp_path / "m")
    assert loaded.predict(TEXTS) == before  # entities with scores
    assert loaded.labels == tagger.labels
    assert loaded.facts == tagger.facts
    assert loaded.method == "hgda"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tuned", "frozen"])
def test_loaded_base_equals_the_saved_one(fit, vectors, tmp_path, kind):
    base = fit(3, vectors=vectors if kind == "frozen" else None)
    base.save(tmp_path / "b")
    loaded = Base.load(tmp_path / "b")
    assert loaded.config == base.config
    assert loaded.facts == base.facts
    assert loaded.model.domains == ("Disease", "Drug", "Gene")
    mine, theirs = base.model.state_dict(), loaded.model.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[n], theirs[n]) for n in mine)
    assert adapted(loaded).predict(TEXTS) == adapted(base).predict(TEXTS)


@pytest.mark.parametrize("name", ["tuned-base", "frozen-base", "tuned-tagger", "frozen-tagger"])
def test_saving_again_writes_the_same_bytes(saved, tmp_path, name):
    load(saved[name]).save(tmp_path / "again")
    assert {p.name: p.read_bytes() for p in (tmp_path / "again").iterdir()} == {
        p.name: p.read_bytes() for p in saved[name].iterdir()
    }


@pytest.mark.parametrize("name", ["tuned-base", "frozen-base", "tuned-tagger", "frozen-tagger"])
def test_saving_over_itself_changes_nothing(copy_of, name):
    folder = copy_of(name)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    load(folder).save(folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert [p.name for p in folder.parent.iterdir()] == [name]


def test_vectors_are_linked_not_copied(saved):
    for name in ("vectors.npy", "vectors.vocab.txt"):
        base, tagger = saved["frozen-base"] / name, saved["frozen-tagger"] / name
        assert os.path.samefile(base, tagger)
    assert not list(saved["tuned-tagger"].glob("vectors*"))


def test_tagger_loads_after_its_base_is_deleted(copy_of, tmp_path):
    base = Base.load(copy_of("frozen-base"))
    adapted(base).save(tmp_path / "before")
    shutil.rmtree(tmp_path / "frozen-base")
    adapted(base).save(tmp_path / "after")  # the vectors are still in memory
    assert Tagger.load(tmp_path / "before").predict(TEXTS) == (
        Tagger.load(tmp_path / "after").predict(TEXTS)
    )


def test_replacing_a_base_does_not_change_its_taggers(fit, vectors, copy_of, tmp_path):
    """The tagger's vectors are links to the base's: they must not be written into."""
    folder = copy_of("frozen-base")
    adapted(Base.load(folder)).save(tmp_path / "m")
    loaded = Tagger.load(tmp_path / "m")
    before = loaded.predict(TEXTS)
    other = WordVectors(vectors.words[:50], np.ones((50, 16), dtype=np.float32))
    fit(2, vectors=other).save(folder)
    assert loaded.predict(TEXTS) == before
    assert Tagger.load(tmp_path / "m").predict(TEXTS) == before
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


# --- what can be wrong with a folder --------------------------------------------------------------

EVERY = pytest.mark.parametrize("name", ["tuned-base", "frozen-tagger"])


def refuse(folder: Path, error: type[Exception], saying: str = ".") -> str:
    with pytest.raises(error, match=saying) as raised:
        load(folder)
    assert str(folder) in str(raised.value)
    assert "What to do:" in str(raised.value)
    return str(raised.value)


@EVERY
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe",
        b'{"format": "one"}',
        b'{"format": 2}',
        b'{"format": 3}',
    ],
)
def test_unreadable_manifest(copy_of, name, content):
    folder = copy_of(name)
    (folder / "manifest.json").write_bytes(content)
    refuse(folder, ModelUnreadable, "damaged manifest.json")


@EVERY
@pytest.mark.parametrize("found", [0, 1])
def test_older_format(copy_of, name, found):
    """Format 1 spoke of a classifier where a shape stands now: made again, not guessed at."""
    folder = copy_of(name)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["shape"]
    path.write_text(json.dumps({**manifest, "format": found, "classifier": True}))
    refuse(folder, ModelUnreadable, rf"written by an older version \(format {found}\)")


@EVERY
def test_newer_format(copy_of, name):
    folder = copy_of(name)
    # a newer format may well look different everywhere else
    (folder / "manifest.json").write_text(json.dumps({"format": FORMAT + 1}))
    refuse(folder, ModelTooNew, "upgrade adaptner")


@EVERY
def test_no_such_folder(tmp_path, name):
    refuse(tmp_path / name, FileMissing)


@EVERY
def test_empty_folder(tmp_path, name):
    (tmp_path / name).mkdir()
    refuse(tmp_path / name, ModelUnreadable, "no manifest.json")


@EVERY
def test_a_file_instead_of_a_folder(tmp_path, name):
    (tmp_path / name).write_text("not a folder")
    refuse(tmp_path / name, ModelUnreadable)


@EVERY
def test_truncated_weights(copy_of, name):
    folder = copy_of(name)
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    refuse(folder, ModelUnreadable, "weights.safetensors is changed or cut off")


@EVERY
def test_one_bit_of_the_weights_flipped(copy_of, name):
    folder = copy_of(name)
    path = folder / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    refuse(folder, ModelUnreadable, "weights.safetensors is changed or cut off")


@EVERY
def test_exchanged_weights(copy_of, saved, name):
    folder = copy_of(name)
    other = "frozen-base" if name == "tuned-base" else "tuned-tagger"
    shutil.copy(saved[other] / "weights.safetensors", folder)
    refuse(folder, ModelUnreadable, "weights.safetensors is changed or cut off")


@EVERY
def test_missing_weights(copy_of, name):
    folder = copy_of(name)
    (folder / "weights.safetensors").unlink()
    refuse(folder, ModelUnreadable, "weights.safetensors is missing")


def edit(folder: Path, **changes: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text()) | changes
    (folder / "manifest.json").write_text(json.dumps(manifest))


@EVERY
@pytest.mark.parametrize("forget", [True, False])
def test_weights_of_another_shape_with_a_fitting_checksum(copy_of, name, forget):
    """Somebody edited the folder by hand: still no stack trace."""
    folder = copy_of(name)
    tensors = load_file(folder / "weights.safetensors")
    tensors = {n: t for n, t in tensors.items() if not (forget and n.startswith("encoder"))}
    tensors |= {n: t[:, :-1].contiguous() for n, t in tensors.items() if n.endswith("bias")}
    save_file(tensors, folder / "weights.safetensors")
    files = json.loads((folder / "manifest.json").read_text())["files"]
    edit(folder, files=files | {"weights.safetensors": digest(folder / "weights.safetensors")})
    refuse(folder, ModelUnreadable)


@EVERY
def test_a_manifest_that_names_no_files(copy_of, name):
    folder = copy_of(name)
    edit(folder, files={})
    for other in [*folder.glob("v*"), *folder.glob("w*")]:
        other.unlink()
    refuse(folder, ModelUnreadable)


def test_a_tagger_without_a_domain(copy_of):
    folder = copy_of("frozen-tagger")
    edit(folder, domains=[])
    refuse(folder, ModelUnreadable)


@pytest.mark.parametrize("name", ["frozen-base", "frozen-tagger"])
@pytest.mark.parametrize("file", ["vectors.npy", "vectors.vocab.txt"])
@pytest.mark.parametrize("cut", [True, False])
def test_missing_or_damaged_vectors(copy_of, name, file, cut):
    folder = copy_of(name)
    path = folder / file
    if cut:
        path.write_bytes(path.read_bytes()[:-8])
    else:
        path.unlink()
    message = refuse(folder, VectorsMissing, f"{file} is {'changed' if cut else 'missing'}")
    assert "make the base again" in message


def test_missing_word_list(copy_of):
    folder = copy_of("tuned-tagger")
    (folder / "words.txt").unlink()
    refuse(folder, ModelUnreadable, "words.txt is missing")


def test_a_base_where_a_tagger_is_wanted(saved):
    folder = saved["tuned-base"]
    with pytest.raises(ModelUnreadable, match="it is a base, not a tagger") as error:
        Tagger.load(folder)
    assert str(folder) in str(error.value)
    assert "adaptner adapt" in str(error.value)


def test_a_tagger_where_a_base_is_wanted(saved):
    folder = saved["tuned-tagger"]
    with pytest.raises(ModelUnreadable, match="it is a tagger, not a base") as error:
        Base.load(folder)
    assert str(folder) in str(error.value)
    assert "adaptner pretrain" in str(error.value)


def test_interrupted_run_is_refused_with_the_way_to_continue(fit, tmp_path):
    folder = tmp_path / "run-base"
    fit(2, TrainingRun(folder, "x"))
    refuse(folder, ModelUnreadable, "interrupted .*--resume")


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
            assert 8 + header + max(ends) == len(content)  # tensors and not a byte besides
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
