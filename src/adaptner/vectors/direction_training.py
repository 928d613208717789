"""Learns directions of names from their instances in raw text (Fisher's linear discriminant)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from adaptner.text.hearst_patterns import InstanceCounts
from adaptner.text.label_names import singular
from adaptner.vectors.label_directions import LabelDirections
from adaptner.vectors.word_vectors import WordVectors

MIN_INSTANCES = 20  # different words that a name needs
_MIN_CHARACTERS = 3  # Shorter words say little about their kind.
_SHRINKAGE = 0.05  # of the covariance towards a multiple of the identity matrix
_NAME_CONTRAST = 0.1  # weight of the contrast to the name itself: "drug" is not a drug
_MAX_COUNT = 5  # of one word, so that "cancer" does not dominate "disease"


def train_label_directions(vectors: WordVectors, instances: InstanceCounts) -> LabelDirections:
    """Returns the direction S⁻¹ (m - (1 - a) μ - a n) of each name.

    m is the mean of its instances, n its own vector, a is _NAME_CONTRAST, and μ and S are the mean
    and covariance of the words, weighted by the square root of their frequency in the text.
    """
    table = np.array(vectors.table, dtype=np.float32)
    length = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.where(length > 0, length, 1)
    weight = np.sqrt([instances.frequency.get(word, 0) for word in vectors.words])
    weight = (weight / weight.sum()).astype(np.float32)
    middle = weight @ table
    covariance = (table - middle).T @ ((table - middle) * weight[:, None])
    width = vectors.width
    covariance += _SHRINKAGE * np.trace(covariance) / width * np.eye(width, dtype=np.float32)
    names, contrasts = [], []
    for name, counts in sorted(instances.named.items()):
        words = name.split(" ")
        name_row = vectors.row(words[-1])
        weights_by_row = {
            row: min(count, _MAX_COUNT) ** 0.5
            for word, count in _last_words(counts).items()
            if (row := vectors.row(word)) < len(vectors.words) and singular(word) not in words
        }
        if len(weights_by_row) < MIN_INSTANCES or name_row == len(vectors.words):
            continue
        weights = np.array(list(weights_by_row.values()), dtype=np.float32)
        mean = weights @ table[list(weights_by_row)] / weights.sum()
        names.append(name)
        contrasts.append(mean - (1 - _NAME_CONTRAST) * middle - _NAME_CONTRAST * table[name_row])
    if names:
        directions = np.linalg.solve(covariance, np.array(contrasts).T).T
    else:
        directions = np.zeros((0, width))
    # Scale to variance 1 over the text, without shrinkage of the covariance.
    scores = (table - middle) @ directions.T
    directions /= np.sqrt(weight @ scores**2)[:, None]
    return LabelDirections(tuple(names), directions.astype(np.float16), middle.astype(np.float32))


def _last_words(instances: Counter[str]) -> Counter[str]:
    """Counts the last two words of each instance, which indicate its kind."""
    counts: Counter[str] = Counter()
    for instance, count in instances.items():
        for word in instance.split(" ")[-2:]:
            if len(word) >= _MIN_CHARACTERS and any(c.isalpha() for c in word):
                counts[word] += count
    return counts
