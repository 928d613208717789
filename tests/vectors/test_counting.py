"""Vectors by counting, each step against a naive computation."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vectors_kit import lines, write_text

from adaptner.errors import EmptyFile, EmptyVocabulary, ExtraMissing, UsageError
from adaptner.vectors import cooccurrence
from adaptner.vectors.cooccurrence import context_blocks, count_cooccurrences
from adaptner.vectors.counting import CountingSettings, train_count_vectors
from adaptner.vectors.factorisation import (
    MIN_COUNT,
    leading_singular_vectors,
    shifted_mutual_information,
)
from adaptner.vectors.neighbours import nearest_words
from adaptner.vectors.ngram_fit import RIDGE, fit_ngram_vectors
from adaptner.vectors.word_vectors import read_vectors

sparse = pytest.importorskip("scipy.sparse")

QUICK = CountingSettings(width=16, least=2, buckets=400, contexts=300)
TEXTS = st.lists(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=8).map(" ".join), min_size=1, max_size=9
)


@given(TEXTS, st.integers(1, 4), st.integers(1, 3), st.integers(1, 12))
def test_pair_counts_equal_those_of_loops(texts, window, least, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            cooccurrence, "_TOKENS_PER_BLOCK", at_once
        )  # sentences are never parted by it
        found = count_cooccurrences(lambda: iter(texts), window, least)
    seen = Counter(w for text in texts for w in text.split())
    assert set(found.words) == {w for w, n in seen.items() if n >= least}
    assert found.frequency.tolist() == [seen[w] for w in found.words]
    assert found.frequency.tolist() == sorted(found.frequency, reverse=True)
    for distance in range(1, window + 1):
        wanted: Counter[tuple[str, str]] = Counter()
        for text in texts:
            words = text.split()
            for i, word in enumerate(words[:-distance] if distance < len(words) else []):
                wanted[word, words[i + distance]] += 1
        matrix = found.after[distance - 1].toarray()
        for i, one in enumerate(found.words):
            for j, other in enumerate(found.words):
                assert matrix[i, j] == wanted[one, other]


def test_each_position_has_its_own_block():
    counts = count_cooccurrences(lambda: iter(["a b c a b", "b c"]), 3, 1)
    after1, before1, after2, before2, bag = (b.toarray() for b in context_blocks(counts, 2))
    places = [m.toarray() for m in counts.after]
    assert (after1 == places[0][:, :2]).all()
    assert (before1 == places[0].T[:, :2]).all()
    assert (after2 == places[1][:, :2]).all()
    assert (before2 == places[1].T[:, :2]).all()
    near = sum((3 - d) / 3 * (m + m.T) for d, m in enumerate(places))
    np.testing.assert_allclose(bag, near[:, :2], rtol=1e-6)


def test_mutual_information_equals_its_definition():
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.2, (12, 7)).astype(np.float32)
    found = shifted_mutual_information(sparse.csr_matrix(counts)).toarray()
    smoothed = [float(counts[:, c].sum()) ** 0.75 for c in range(7)]
    for v in range(12):
        for c in range(7):
            wanted = 0.0
            if counts[v, c] >= MIN_COUNT:
                given_word = counts[v, c] / counts[v].sum()
                wanted = max(0.0, math.log(given_word / (smoothed[c] / sum(smoothed))))
            assert found[v, c] == pytest.approx(wanted, abs=1e-5)


def test_leading_singular_vectors_equal_a_full_svd():
    rng = np.random.default_rng(1)
    dense = rng.standard_normal((60, 8)) * 2.0 ** -np.arange(8) @ rng.standard_normal((8, 90))
    blocks = [sparse.csr_matrix(dense[:, :50]), sparse.csr_matrix(dense[:, 50:])]
    vectors, values = leading_singular_vectors(blocks, 5)
    theirs, sizes, _ = np.linalg.svd(dense, full_matrices=False)
    np.testing.assert_allclose(values, sizes[:5], rtol=1e-4)
    np.testing.assert_allclose(np.abs((vectors * theirs[:, :5]).sum(0)), 1, atol=1e-4)


def test_ngram_vectors_solve_the_ridge_regression():
    rng = np.random.default_rng(2)
    words = ["kinase", "kinases", "phosphatase", "gene", "genes", "genome", "a"]
    table = rng.standard_normal((len(words), 4)).astype(np.float32)
    found = fit_ngram_vectors(words, table, least=3, most=4, buckets=40)
    means = np.zeros((len(words), 40))
    for i, word in enumerate(words):
        rows = found.rows(word)
        for row in rows:
            means[i, row] += 1 / len(rows)
    wanted = np.linalg.solve(means.T @ means + RIDGE * np.eye(40), means.T @ table)
    for row in range(40):  # four bits a number
        error = np.abs(found.table[np.array([row])][0] - wanted[row]).max()
        assert error <= 0.08 * np.abs(wanted[row]).max() + 1e-6


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text") / "t.txt")


def test_file_contains_vectors_and_facts(text, tmp_path):
    facts = train_count_vectors([text], tmp_path / "v.safetensors", QUICK)
    again = train_count_vectors([text], tmp_path / "w.safetensors", QUICK)
    assert facts == again
    assert (tmp_path / "v.safetensors").read_bytes() == (tmp_path / "w.safetensors").read_bytes()
    vectors = read_vectors(tmp_path / "v.safetensors")
    assert vectors.facts["text_sha256"] == facts["text_sha256"]
    assert int(vectors.facts["sentences"]) == len(lines())
    seen = Counter(w for line in lines() for w in line.lower().split())
    assert set(vectors.words) == {w for w, n in seen.items() if n >= QUICK.least}
    assert np.linalg.norm(vectors.vector("The")) == pytest.approx(1, abs=0.02)
    # a word that has no neighbour twice gets the mean of its n-grams, as an unknown word does
    assert np.linalg.norm(vectors.vector("Expression")) > 0
    unseen = vectors.vector("unexpressioned")
    assert unseen is not None
    assert np.abs(unseen).max() > 0


def test_words_with_similar_contexts_are_near(tmp_path):
    """Two kinds of words that never co-occur and differ only in their neighbours."""
    rng = np.random.default_rng(3)
    sides = {"drug": ("gave", "daily"), "cell": ("cultured", "overnight")}
    names = {kind: [f"{kind}{i}x" for i in range(8)] for kind in sides}
    texts = [
        f"we {before} {name} {after}"
        for kind, (before, after) in sides.items()
        for name in rng.choice(names[kind], 60)
    ]
    (tmp_path / "t.txt").write_text("\n".join(texts))
    settings = CountingSettings(width=4, least=2, buckets=50, min_gram=4, max_gram=5)
    train_count_vectors([tmp_path / "t.txt"], tmp_path / "v.safetensors", settings)
    vectors = read_vectors(tmp_path / "v.safetensors")
    for kind, own in names.items():
        near = nearest_words(vectors, own[:2], 5)
        assert all(w in names[kind] for found in near if found for w, _ in found)


def test_invalid_input_raises(text, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="safetensors"):
        train_count_vectors([text], tmp_path / "v.npy", QUICK)
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(EmptyFile):
        train_count_vectors([tmp_path / "empty.txt"], tmp_path / "v.safetensors", QUICK)
    rare = QUICK.model_copy(update={"least": 10_000})
    with pytest.raises(EmptyVocabulary):
        train_count_vectors([text], tmp_path / "v.safetensors", rare)
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    with pytest.raises(ExtraMissing, match="scipy"):
        train_count_vectors([text], tmp_path / "v.safetensors", QUICK)
    assert not (tmp_path / "v.safetensors").exists()
