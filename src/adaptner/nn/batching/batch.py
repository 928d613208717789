"""Sentences as tensors: what every encoder's batch has, and how sentences are put in order for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from adaptner.types import LabelSet, Sentence


@dataclass(frozen=True)
class Batch:
    """G tasks of B sentences each. ``order[g][i]`` is the place, in the list given, of the i-th
    sentence here (they are sorted, longest first). Each encoder's batch has more fields."""

    rows: Tensor  # (G, ...) of the words or sub-words in the encoder's table
    mask: Tensor  # (G, B, L)
    tags: Tensor | None  # (G, B, L)
    order: tuple[tuple[int, ...], ...]

    def to(self, device: torch.device) -> Self:
        """The batch with its tensors on ``device``; itself if they are there."""
        return self if self.mask.device == device else on_device(self, device)


def on_device(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        return value.to(device)
    if not is_dataclass(value) or isinstance(value, type) or getattr(value, "stays_on_cpu", False):
        return value
    return replace(
        value, **{f.name: on_device(getattr(value, f.name), device) for f in fields(value)}
    )


@dataclass(frozen=True)
class SortedSentences:
    """Tasks in the order in which they are encoded: each one's longest sentence first."""

    tasks: tuple[tuple[Sentence, ...], ...]
    lengths: np.ndarray  # (G, B)
    mask: np.ndarray  # (G, B, L)
    tags: Tensor | None
    order: tuple[tuple[int, ...], ...]


class Batcher(ABC):
    """Turns sentences into batches for one vocabulary, that of an encoder."""

    def __call__(
        self, tasks: Sequence[Sequence[Sentence]], labels: Sequence[LabelSet] | None = None
    ) -> Batch:
        """``tasks``: as many sentences in each; ``labels``: each task's, if tags are wanted."""
        orders = [sorted(range(len(task)), key=lambda i: -len(task[i])) for task in tasks]
        chosen = tuple(
            tuple(task[i] for i in order) for task, order in zip(tasks, orders, strict=True)
        )
        lengths = np.array([[len(s) for s in task] for task in chosen])
        mask = np.arange(lengths.max()) < lengths[..., None]
        tags = None
        if labels is not None:
            numbers = np.zeros(mask.shape, dtype=np.int64)
            numbers[mask] = [
                number
                for task, known in zip(chosen, labels, strict=True)
                for s in task
                for number in known.tag_ids(s)
            ]
            tags = torch.from_numpy(numbers)
        return self._read(SortedSentences(chosen, lengths, mask, tags, tuple(map(tuple, orders))))

    @abstractmethod
    def _read(self, arranged: SortedSentences) -> Batch:
        """The batch of sentences that are in order."""

    @abstractmethod
    def restrict(
        self, sentences: Iterable[Sentence], words: Iterable[str] = ()
    ) -> tuple[Tensor, Batcher] | None:
        """The rows of the encoder's table that ``sentences`` and ``words`` read, in order, and a
        batcher for a table of these rows alone; None if they are all."""
