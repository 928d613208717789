"""``adaptner vectors directions``: adds directions of label names to a file of vectors."""

from __future__ import annotations

import numpy as np
from typer.testing import CliRunner

from adaptner.cli.main import app
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.word_vectors import WordVectors, read_vectors, write_vectors


def test_directions_are_stored_and_other_formats_refused(tmp_path):
    rng = np.random.default_rng(0)
    words = ("disease", *(f"illness{c}" for c in "abcdefghijklmnopqrstuvwxyz"))
    grams = NgramVectors(FourBitTable.of(rng.normal(size=(4, 8))), 3, 4, lower=True)
    table = FourBitTable.of(rng.normal(size=(len(words), 8)))
    write_vectors(WordVectors(words, table, grams), tmp_path / "own.safetensors")
    text = tmp_path / "text.txt"
    text.write_text("".join(f"Diseases such as {w} occur .\n" for w in words[1:]))
    call = [
        "vectors",
        "directions",
        str(text),
        "--vectors",
        str(tmp_path / "own.safetensors"),
        "-o",
    ]
    answer = CliRunner().invoke(app, [*call, str(tmp_path / "own.safetensors")])
    assert answer.exit_code == 0, answer.output
    directions = read_vectors(tmp_path / "own.safetensors").directions
    assert directions is not None
    assert directions.names == ("disease",)
    refused = CliRunner().invoke(app, [*call, str(tmp_path / "own.npy")])
    assert refused.exit_code != 0
    assert not (tmp_path / "own.npy").exists()
