"""Label directions: Fisher's discriminant, and look-up by label."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from adaptner.text.hearst_patterns import InstanceCounts
from adaptner.vectors.direction_training import (
    _MAX_COUNT,
    _NAME_CONTRAST,
    _SHRINKAGE,
    MIN_INSTANCES,
    train_label_directions,
)
from adaptner.vectors.four_bit import FourBitTable
from adaptner.vectors.label_directions import LabelDirections
from adaptner.vectors.ngrams import NgramVectors
from adaptner.vectors.word_vectors import WordVectors, read_vectors, write_vectors

WIDTH = 6


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    """Two clusters of 40 diseases and 40 animals, and 200 other words."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(282, WIDTH)).astype(np.float32)
    table[:40, 0] += 4
    table[40:80, 1] += 4
    words = [f"illness{i}" for i in range(40)] + [f"beast{i}" for i in range(40)]
    words += [f"other{i}" for i in range(200)] + ["disease", "animal"]
    return WordVectors(tuple(words), table)


@pytest.fixture(scope="module")
def counts() -> InstanceCounts:
    rng = np.random.default_rng(1)
    named = {
        "disease": Counter({f"illness{i}": int(rng.integers(1, 9)) for i in range(30)}),
        "animal": Counter({f"beast{i}": 1 for i in range(30)}),
        "rare": Counter({"other1": 50}),
        "unknown": Counter({f"other{i}": 1 for i in range(30)}),  # the name has no vector
    }
    named["disease"].update({"diseases": 100, "disease": 100, "not in table": 7})
    frequency = Counter({f"other{i}": int(rng.integers(1, 99)) for i in range(200)})
    frequency.update({f"illness{i}": 3 for i in range(40)})
    return InstanceCounts(named, frequency=frequency)


def test_directions_are_those_of_fishers_discriminant(vectors, counts):
    named, frequency = counts.named, counts.frequency
    found = train_label_directions(vectors, counts)
    assert found.names == ("animal", "disease")
    unit = np.array([v / np.linalg.norm(v) for v in np.asarray(vectors.table, dtype=np.float64)])
    share = np.array([frequency[w] ** 0.5 for w in vectors.words])
    share /= share.sum()
    middle = sum(p * v for p, v in zip(share, unit, strict=True))
    spread = sum(p * np.outer(v - middle, v - middle) for p, v in zip(share, unit, strict=True))
    near = spread + _SHRINKAGE * np.trace(spread) / WIDTH * np.eye(WIDTH)
    weights = {
        w: min(n, _MAX_COUNT) ** 0.5 for w, n in named["disease"].items() if w.startswith("illn")
    }
    mean = sum(k * unit[vectors.row(w)] for w, k in weights.items()) / sum(weights.values())
    own = unit[vectors.row("disease")]
    direction = np.linalg.inv(near) @ (mean - (1 - _NAME_CONTRAST) * middle - _NAME_CONTRAST * own)
    direction /= np.sqrt(direction @ spread @ direction)
    np.testing.assert_allclose(found.direction("Disease"), direction, rtol=3e-3, atol=3e-3)
    np.testing.assert_allclose(found.middle, middle, atol=1e-6)


def test_unseen_instances_score_high(vectors, counts):
    found = train_label_directions(vectors, counts)
    unit = vectors.table / np.linalg.norm(vectors.table, axis=1, keepdims=True)
    scores = (unit - found.middle) @ found.direction("disease")
    assert scores[30:40].mean() > 1.0 > scores[40:80].mean()
    assert scores[30:40].mean() > scores[80:280].mean() + 1.0


def test_name_with_too_few_instances_has_no_direction(vectors, counts):
    frequency = counts.frequency
    few = {"disease": Counter({f"illness{i}": 1 for i in range(MIN_INSTANCES - 1)})}
    assert train_label_directions(vectors, InstanceCounts(few, frequency=frequency)).names == ()
    assert train_label_directions(
        vectors, InstanceCounts(frequency=frequency)
    ).directions.shape == (0, WIDTH)


def test_label_gets_the_direction_of_its_longest_known_suffix():
    rows = np.arange(3 * WIDTH, dtype=np.float16).reshape(3, WIDTH)
    directions = LabelDirections(
        ("cell line", "line", "disease"), rows, np.zeros(WIDTH, dtype=np.float32)
    )

    def row(label: str) -> int | None:
        found = directions.direction(label)
        return None if found is None else int(found[0]) // WIDTH

    assert row("CellLine") == row("human_cell_lines") == 0
    assert row("Line") == row("TRANSGENIC-LINE") == 1
    assert row("Diseases") == 2
    assert row("X") is row("") is row("disease name") is None


def test_directions_are_saved_in_the_file_of_the_vectors(tmp_path, counts):
    rng = np.random.default_rng(2)
    grams = NgramVectors(FourBitTable.of(rng.normal(size=(5, WIDTH))), 3, 4, lower=True)
    words = tuple(counts.named["disease"])
    plain = WordVectors(words, FourBitTable.of(rng.normal(size=(len(words), WIDTH))), grams)
    directions = LabelDirections(
        ("disease", "größe"),
        rng.normal(size=(2, WIDTH)).astype(np.float16),
        rng.normal(size=WIDTH).astype(np.float32),
    )
    write_vectors(replace(plain, directions=directions), tmp_path / "v.safetensors")
    found = read_vectors(tmp_path / "v.safetensors").directions
    assert found is not None
    assert found.names == directions.names
    np.testing.assert_array_equal(found.directions, directions.directions)
    np.testing.assert_array_equal(found.middle, directions.middle)
    write_vectors(plain, tmp_path / "plain.safetensors")
    assert read_vectors(tmp_path / "plain.safetensors").directions is None
