"""Directions for names, from what a raw text calls by them (Fisher's linear discriminant)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from adaptner.text.hearst_patterns import InstanceCounts
from adaptner.text.label_names import singular
from adaptner.vectors.label_directions import LabelDirections
from adaptner.vectors.word_vectors import WordVectors

LEAST = 20  # different words that a name must be said of
_SHORTEST = 3  # letters of a word that says something of its kind
_SHRINKAGE = 0.05  # of the covariance towards a multiple of the unit matrix
_AWAY = 0.1  # "drug" is not itself a drug: so much of the contrast is with the name's own vector
_CAP = 5  # how often one word counts at most: "cancer" is not all of disease


def train_label_directions(vectors: WordVectors, instances: InstanceCounts) -> LabelDirections:
    """S⁻¹ (m - (1 - a) μ - a n): m the mean of the words that the name is said of, μ and S mean and
    covariance over running text (a word counts as the root of its frequency: "the" is not all there
    is), n the name's own vector."""
    table = np.array(vectors.table, dtype=np.float32)
    length = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.where(length > 0, length, 1)
    share = np.sqrt([instances.frequency.get(word, 0) for word in vectors.words])
    share = (share / share.sum()).astype(np.float32)
    middle = share @ table
    spread = (table - middle).T @ ((table - middle) * share[:, None])
    width = vectors.width
    spread += _SHRINKAGE * np.trace(spread) / width * np.eye(width, dtype=np.float32)
    names, contrasts = [], []
    for name, said in sorted(instances.named.items()):
        words = name.split(" ")
        own = vectors.row(words[-1])
        known = {
            row: min(count, _CAP) ** 0.5
            for word, count in _kinds(said).items()
            if (row := vectors.row(word)) < len(vectors.words) and singular(word) not in words
        }
        if len(known) < LEAST or own == len(vectors.words):
            continue
        weights = np.array(list(known.values()), dtype=np.float32)
        mean = weights @ table[list(known)] / weights.sum()
        names.append(name)
        contrasts.append(mean - (1 - _AWAY) * middle - _AWAY * table[own])
    found = np.linalg.solve(spread, np.array(contrasts).T).T if names else np.zeros((0, width))
    # variance 1 over running text: d' S d, without what was added to S
    scores = (table - middle) @ found.T
    found /= np.sqrt(share @ scores**2)[:, None]
    return LabelDirections(tuple(names), found.astype(np.float16), middle.astype(np.float32))


def _kinds(said: Counter[str]) -> Counter[str]:
    """Of what a name is said of, the words that tell its kind: the last two of each."""
    counts: Counter[str] = Counter()
    for instance, count in said.items():
        for word in instance.split(" ")[-2:]:
            if len(word) >= _SHORTEST and any(c.isalpha() for c in word):
                counts[word] += count
    return counts
