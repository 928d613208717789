"""Damaged bases, taggers, vectors and records are refused with a remedy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_kit import SOURCE_OPTIONS, listing, refused


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def alter(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "no manifest.json"),
    "a cut manifest": (lambda f: truncate(f / "manifest.json"), "damaged manifest.json"),
    "an empty manifest": (lambda f: (f / "manifest.json").write_text(""), "damaged manifest.json"),
    "a list": (lambda f: (f / "manifest.json").write_text("[]"), "damaged manifest.json"),
    "of other software": (
        lambda f: (f / "manifest.json").write_text('{"manifest_version": 3, "name": "add-on"}'),
        "damaged manifest.json",
    ),
    "not UTF-8": (lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe"), "damaged manifest"),
    "no weights": (
        lambda f: (f / "weights.safetensors").unlink(),
        "weights.safetensors is missing",
    ),
    "cut weights": (lambda f: truncate(f / "weights.safetensors"), "changed or cut off"),
    "empty weights": (lambda f: (f / "weights.safetensors").write_bytes(b""), "cut off"),
    "no words": (lambda f: (f / "words.txt").unlink(), "words.txt is missing"),
    "cut words": (lambda f: truncate(f / "words.txt"), "words.txt is changed or cut off"),
    "of the future": (lambda f: alter(f / "manifest.json", format=99), "format 99"),
    "without domains": (lambda f: alter(f / "manifest.json", domains=[]), "not a readable"),
}


@pytest.fixture(scope="module")
def base_with_vectors(tmp_path_factory: pytest.TempPathFactory, workshop: Path) -> Path:
    from cli_kit import run_main

    folder = tmp_path_factory.mktemp("vectors")
    (folder / "tiny.vec").write_text("the 1 0\ncells 0 1\n")
    run = (
        "pretrain",
        *SOURCE_OPTIONS,
        "--config",
        workshop / "config.toml",
        "--iterations",
        1,
        "-q",
    )
    with pytest.MonkeyPatch.context() as patch:
        vectors = ("--vectors", folder / "tiny.vec", "-o", folder / "base")
        assert run_main(patch, (*run, *vectors)) == 0
    return folder / "base"


VECTORS = {
    "no numbers": ("the one two\n", 1),
    "ragged": ("the 1 0\ncells 1\n", 2),
    "fewer than announced": ("5 2\nthe 1 0\n", None),
    "empty": ("", None),
}


@pytest.mark.parametrize("kind", ["base", "model"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_folder_is_refused(call, workshop, tmp_path, damage, kind, mine):
    folder = tmp_path / kind
    shutil.copytree(workshop / kind, folder)
    spoil, says = DAMAGES[damage]
    spoil(folder)
    output = tmp_path / "out.jsonl"
    if kind == "base":
        answer = call("adapt", mine, "--base", folder, "-o", output)
    else:
        answer = call("tag", folder, mine, "-o", output)
    refused(answer, 1, folder, says)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([kind, "mine.jsonl"])


@pytest.mark.parametrize("name", ["vectors.npy", "vectors.vocab.txt"])
@pytest.mark.parametrize("damage", [Path.unlink, truncate], ids=["missing", "cut off"])
def test_base_without_its_vectors_is_refused(call, base_with_vectors, tmp_path, name, damage, mine):
    shutil.copytree(base_with_vectors, tmp_path / "base")
    damage(tmp_path / "base" / name)
    arguments = ("--base", tmp_path / "base", "-o", tmp_path / "model")
    answer = call("adapt", mine, *arguments)
    refused(answer, 1, tmp_path / "base", "vectors of this base are missing", name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base", "mine.jsonl"]


@pytest.mark.parametrize("name", VECTORS)
def test_bad_vectors_are_refused(call, config, tmp_path, name):
    text, line = VECTORS[name]
    file = tmp_path / "bad.vec"
    file.write_text(text)
    run = ("pretrain", *SOURCE_OPTIONS, "--config", config, "--iterations", 1)
    answer = call(*run, "--vectors", file, "-o", tmp_path / "base")
    refused(answer, 1, f"{file}: " if line is None else f"{file}:{line}: ", "word vectors")
    assert listing(tmp_path) == ["bad.vec"]


def test_damaged_hardness_record_is_refused(call, base, tmp_path):
    shutil.copytree(base, tmp_path / "base")
    (tmp_path / "base" / "hardness.jsonl").write_text("no JSON\n")
    refused(call("hardness", tmp_path / "base"), 1, "hardness.jsonl is damaged")
