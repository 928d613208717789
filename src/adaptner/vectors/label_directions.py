"""Directions of names in the space of word vectors, which point to the instances of each name.

The direction of "disease" points to asthma and gout, so that a tagger for the label Disease can start
from it. Directions are learnt from raw text without labels (``vectors/direction_training.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from adaptner.text.label_names import label_words, normalise_name


@dataclass(frozen=True, eq=False)
class LabelDirections:
    """The score of a word vector v for name i is directions[i] · (v / |v| - middle).

    Over the training text its mean is 0 and its variance 1.
    """

    names: tuple[str, ...]
    directions: np.ndarray  # (names, width) float16
    middle: np.ndarray  # (width,) float32: mean of the normalised word vectors of the text

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {name: i for i, name in enumerate(self.names)})

    def direction(self, label: str) -> np.ndarray | None:
        """Returns the direction of the longest suffix of the label that is a known name, or None.

        For "HumanCellLine" this is "cell line" or else "line".
        """
        row = longest_known_suffix(label, self._rows)  # type: ignore[attr-defined]
        return None if row is None else self.directions[row].astype(np.float32)


def longest_known_suffix(label: str, rows: Mapping[str, int]) -> int | None:
    """Returns the row of the longest suffix of the label that is a name in ``rows``, or None."""
    words = label_words(label)
    found = (rows.get(normalise_name(words[start:])) for start in range(len(words)))
    return next((row for row in found if row is not None), None)
