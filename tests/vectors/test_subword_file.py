"""The subword vector file: round trips, reproducible bytes, and damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from adaptner.errors import BadVectors
from adaptner.nn.encoders.embeddings import TrainableEmbeddings
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.subword_file import FORMAT_NAME
from adaptner.vectors.word_vectors import WordVectors, read_vectors, write_vectors

WORDS = ("the", "p53", "naïve", "日本", "β-catenin", "\x85", "a\u2028b")
RNG = np.random.default_rng(0)
VECTORS = WordVectors(
    WORDS,
    FourBitTable.of(RNG.normal(size=(len(WORDS), 6))),
    NgramVectors(FourBitTable.of(RNG.normal(size=(50, 6))), 3, 5, lower=False),
    {"epochs": "5", "made_by": "a test"},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_vectors(VECTORS, tmp_path / "v.safetensors")
    return tmp_path / "v.safetensors"


def test_round_trip(path):
    found = read_vectors(path)
    assert found.words == WORDS
    assert found.facts == VECTORS.facts
    assert found.digest() == VECTORS.digest()
    assert isinstance(found.table, FourBitTable)
    assert found.grams is not None
    assert (found.grams.least, found.grams.most, found.grams.lower) == (3, 5, False)
    for word in ("the", "unheard", "日本語"):
        np.testing.assert_array_equal(found.vector(word), VECTORS.vector(word))


def test_same_vectors_give_the_same_bytes(path, tmp_path):
    for number in range(5):  # safetensors would order its metadata anew each time
        write_vectors(read_vectors(path), tmp_path / f"{number}.safetensors")
        assert (tmp_path / f"{number}.safetensors").read_bytes() == path.read_bytes()


def test_file_contains_only_header_and_tensors(path):
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert header.pop("__metadata__")["format"] == FORMAT_NAME
    assert set(header) == {"words", "table", "table_scale", "grams", "grams_scale"}
    assert len(content) == 8 + length + sum(
        t["data_offsets"][1] - t["data_offsets"][0] for t in header.values()
    )
    assert load_file(path)["words"].tobytes() == "\n".join(WORDS).encode()


def test_table_becomes_an_array(tmp_path):
    write_vectors(VECTORS, tmp_path / "v.npy")
    found = read_vectors(tmp_path / "v.npy")
    np.testing.assert_array_equal(found.table, np.asarray(VECTORS.table))
    layer = TrainableEmbeddings(VECTORS)
    assert layer.table.dtype == torch.float32
    np.testing.assert_array_equal(layer.table.detach()[0, :-1].numpy(), found.table)
    assert layer.table[0, -1].abs().sum() == 0


def changed(path: Path, tensors: dict[str, object], about: dict[str, str | None]) -> None:
    """Rewrites the file with other tensors or metadata; None removes one."""
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    kept = load_file(path) | tensors
    metadata = header["__metadata__"] | about
    save_file(
        {n: np.asarray(t) for n, t in kept.items() if t is not None},
        path,
        {n: v for n, v in metadata.items() if v is not None},
    )


def text(words: str) -> np.ndarray:
    return np.frombuffer(words.encode(), dtype=np.uint8)


DAMAGE: dict[str, tuple[dict[str, object], dict[str, str | None]]] = {
    "no words": ({"words": None}, {}),
    "no table": ({"table": None}, {}),
    "no grams": ({"grams": None}, {}),
    "a word too few": ({"words": text("a\nb")}, {}),
    "a word twice": ({"words": text("a\nb\nc\nd\ne\nf\na")}, {}),
    "words not UTF-8": ({"words": np.full(20, 255, np.uint8)}, {}),
    "words of numbers": ({"words": np.zeros(7, np.float32)}, {}),
    "a table of floats": ({"table": np.zeros((7, 3), np.float32)}, {}),
    "a flat table": ({"table": np.zeros(7, np.uint8)}, {}),
    "a scale too few": ({"table_scale": np.ones(6, np.float32)}, {}),
    "no number": ({"table_scale": np.full(7, np.nan, np.float32)}, {}),
    "infinite": ({"grams_scale": np.full(50, np.inf, np.float32)}, {}),
    "grams of another width": ({"grams": np.zeros((50, 4), np.uint8)}, {}),
    "no rows of grams": ({"grams": np.zeros((0, 3), np.uint8), "grams_scale": np.zeros(0, np.float32)}, {}),
    "another width": ({}, {"width": "8"}),
    "no width": ({}, {"width": None}),
    "width is no number": ({}, {"width": "six"}),
    "grams of no length": ({}, {"min_gram": "0"}),
    "longest n-gram below the shortest": ({}, {"min_gram": "6"}),
    "case is neither true nor false": ({}, {"lower": "perhaps"}),
    "foreign": ({}, {"format": None}),
    "another format": ({}, {"format": "pt"}),
    "newer": ({}, {"format_number": "3"}),
    "format is no number": ({}, {"format_number": "two"}),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_file_raises(path, case):
    changed(path, *DAMAGE[case])
    with pytest.raises(BadVectors) as caught:
        read_vectors(path)
    assert caught.value.file == str(path)
    if case == "newer":
        assert "upgrade" in str(caught.value)
    if case == "foreign":
        assert "adaptner vectors train" in str(caught.value)


def test_truncated_file_raises(path):
    content = path.read_bytes()
    middle = len(content) // 2
    for end in {0, 1, 7, 8, 9, 100, middle, len(content) - 1, *range(10, len(content), 97)}:
        path.write_bytes(content[:end])
        with pytest.raises(BadVectors):
            read_vectors(path)


@pytest.mark.parametrize("content", [b"the 1 2\n", b"\xff" * 64, b"PK\x03\x04" + bytes(60)])
def test_other_safetensors_file_raises(path, content):
    path.write_bytes(content)
    with pytest.raises(BadVectors):
        read_vectors(path)
