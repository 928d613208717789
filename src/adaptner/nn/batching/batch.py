"""Sentences as tensors: the fields that the batches of all encoders share, and the order of sentences."""

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
    """G tasks of B sentences each, sorted by length, longest first; subclasses add fields.

    ``order[g][i]`` is the position that sentence i of task g had before sorting."""

    rows: Tensor  # (G, ...) rows of the words or sub-words in the encoder's table
    mask: Tensor  # (G, B, L)
    tags: Tensor | None  # (G, B, L)
    order: tuple[tuple[int, ...], ...]

    def arrange(self, rows: Sequence[np.ndarray]) -> Tensor:
        """Features of the tokens of one task's sentences, in the order before sorting, as a tensor
        (1, B, L, width) that is zero in the padding."""
        found = torch.zeros(*self.mask.shape, rows[0].shape[1])
        for row, place in enumerate(self.order[0]):
            found[0, row, : len(rows[place])] = torch.from_numpy(rows[place])
        return found.to(self.mask.device)

    def to(self, device: torch.device) -> Self:
        """This batch with its tensors on ``device``."""
        return self if self.mask.device == device else on_device(self, device)


def on_device(value: Any, device: torch.device) -> Any:
    """``value`` with its tensors on ``device``: a tensor, or a dataclass with tensors in it."""
    if isinstance(value, Tensor):
        return value.to(device)
    if not is_dataclass(value) or isinstance(value, type) or getattr(value, "stays_on_cpu", False):
        return value
    return replace(
        value, **{f.name: on_device(getattr(value, f.name), device) for f in fields(value)}
    )


@dataclass(frozen=True)
class SortedSentences:
    """Tasks as they are encoded: the longest sentence of each task first."""

    tasks: tuple[tuple[Sentence, ...], ...]
    lengths: np.ndarray  # (G, B)
    mask: np.ndarray  # (G, B, L)
    tags: Tensor | None
    order: tuple[tuple[int, ...], ...]


class Batcher(ABC):
    """Turns sentences into batches for the vocabulary of one encoder."""

    def __call__(
        self, tasks: Sequence[Sequence[Sentence]], labels: Sequence[LabelSet] | None = None
    ) -> Batch:
        """A batch on the CPU. Every task has the same number of sentences; ``labels``, one label set per
        task, adds the tags."""
        orders = [sorted(range(len(task)), key=lambda i: -len(task[i])) for task in tasks]
        ordered = tuple(
            tuple(task[i] for i in order) for task, order in zip(tasks, orders, strict=True)
        )
        lengths = np.array([[len(s) for s in task] for task in ordered])
        mask = np.arange(lengths.max()) < lengths[..., None]
        tags = None
        if labels is not None:
            tag_ids = np.zeros(mask.shape, dtype=np.int64)
            tag_ids[mask] = [
                tag_id
                for task, label_set in zip(ordered, labels, strict=True)
                for s in task
                for tag_id in label_set.tag_ids(s)
            ]
            tags = torch.from_numpy(tag_ids)
        order = tuple(map(tuple, orders))
        return self._make_batch(SortedSentences(ordered, lengths, mask, tags, order))

    @abstractmethod
    def _make_batch(self, sentences: SortedSentences) -> Batch: ...

    @abstractmethod
    def restrict(
        self, sentences: Iterable[Sentence], words: Iterable[str] = ()
    ) -> tuple[Tensor, Batcher] | None:
        """The rows of the encoder's table that ``sentences`` and ``words`` use, in ascending order,
        and a batcher for a table of these rows only; None if they use all rows."""
