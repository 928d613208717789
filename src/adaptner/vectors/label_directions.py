"""What names mean in the space of word vectors: for each name, a direction to the words it is said of.

With "disease" comes a direction in which asthma and gout lie; a tagger for the label Disease can start
from it instead of from nothing. Learnt from raw text (``vectors/direction_training.py``), not from labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from adaptner.text.label_names import label_words, normalise_name


@dataclass(frozen=True, eq=False)
class LabelDirections:
    """The score of a word vector v for name i is directions[i] · (v / |v| - middle). Over running text
    it has the variance 1, and its mean is 0."""

    names: tuple[str, ...]
    directions: np.ndarray  # (names, width) float16
    middle: np.ndarray  # (width,) float32: the mean of the words of running text, each of length 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {name: i for i, name in enumerate(self.names)})

    def direction(self, label: str) -> np.ndarray | None:
        """Of the longest end of the label that is a name here: of "HumanCellLine" it is "cell line",
        else "line". None for a label that says nothing."""
        row = row_of(label, self._rows)  # type: ignore[attr-defined]
        return None if row is None else self.directions[row].astype(np.float32)


def row_of(label: str, rows: Mapping[str, int]) -> int | None:
    """Of the longest end of the label that is a name in ``rows``."""
    words = label_words(label)
    found = (rows.get(normalise_name(words[start:])) for start in range(len(words)))
    return next((row for row in found if row is not None), None)
