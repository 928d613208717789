"""Sentences as tensors: every distinct word of a task once, and where it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.nn.packing import Packing
from adaptner.nn.vectors import WordVectors
from adaptner.types import LabelSet, Sentence

UNKNOWN_CHAR = 1  # 0 is padding
# Of longer words the first and last halves are read: endings carry the type, and sequences of
# hundreds of letters would otherwise set the width of the whole batch.
LONGEST_WORD = 32


@dataclass(frozen=True)
class Batch:
    """G tasks of B sentences each. ``order[g][i]`` is the place, in the list given, of the i-th
    sentence here (they are sorted, longest first)."""

    rows: Tensor  # (G, W) of each distinct word in the word vectors
    chars: Tensor  # (G, W, C)
    char_lengths: Tensor  # (G, W)
    char_packing: Packing
    index: Tensor  # (G, B, L) which distinct word stands where
    packing: Packing
    mask: Tensor  # (G, B, L)
    tags: Tensor | None  # (G, B, L)
    order: tuple[tuple[int, ...], ...]


class Batcher:
    """Turns sentences into batches for one vocabulary; caches what it knows of each word."""

    def __init__(self, vectors: WordVectors, alphabet: str) -> None:
        self.vectors = vectors
        self.alphabet = alphabet
        self._chars = {c: i + 2 for i, c in enumerate(alphabet)}
        self._known: dict[str, tuple[int, list[int]]] = {}

    def __call__(
        self, tasks: Sequence[Sequence[Sentence]], labels: Sequence[LabelSet] | None = None
    ) -> Batch:
        """``tasks``: as many sentences in each; ``labels``: each task's, if tags are wanted."""
        orders = [sorted(range(len(task)), key=lambda i: -len(task[i])) for task in tasks]
        chosen = [[task[i] for i in order] for task, order in zip(tasks, orders, strict=True)]
        words = [self._distinct(task) for task in chosen]
        width = max(len(task[0]) for task in chosen)
        lengths = torch.tensor([[len(s) for s in task] for task in chosen])
        # A task with fewer distinct words than another is filled up with one-letter nonsense.
        most = max(map(len, words))
        facts = [[self._word(w) for w in own] + [(0, [0])] * (most - len(own)) for own in words]
        char_width = max(len(own[0][1]) for own in facts)
        char_lengths = torch.tensor([[len(c) for _, c in own] for own in facts])
        places = [{w: i for i, w in enumerate(own)} for own in words]
        tags = None
        if labels is not None:
            tags = torch.tensor(
                [
                    [_filled([known.index[t] for t in s.tags], width) for s in task]
                    for task, known in zip(chosen, labels, strict=True)
                ]
            )
        return Batch(
            rows=torch.tensor([[row for row, _ in own] for own in facts]),
            chars=torch.tensor([[_filled(c, char_width) for _, c in own] for own in facts]),
            char_lengths=char_lengths,
            char_packing=Packing.of(char_lengths, char_width),
            index=torch.tensor(
                [
                    [_filled([place[w] for w in s.tokens], width) for s in task]
                    for task, place in zip(chosen, places, strict=True)
                ]
            ),
            packing=Packing.of(lengths, width),
            mask=torch.arange(width) < lengths[..., None],
            tags=tags,
            order=tuple(map(tuple, orders)),
        )

    def _distinct(self, task: Sequence[Sentence]) -> list[str]:
        return sorted(
            dict.fromkeys(w for s in task for w in s.tokens), key=lambda w: -len(self._word(w)[1])
        )

    def _word(self, word: str) -> tuple[int, list[int]]:
        known = self._known.get(word)
        if known is None:
            half = LONGEST_WORD // 2
            read = word if len(word) <= LONGEST_WORD else word[:half] + word[-half:]
            known = self.vectors.row(word), [self._chars.get(c, UNKNOWN_CHAR) for c in read]
            if len(self._known) < 500_000:  # bounded, whatever a user tags
                self._known[word] = known
        return known


def _filled(values: list[int], width: int) -> list[int]:
    return values + [0] * (width - len(values))


def alphabet_of(sentences: Iterable[Sentence], least: int = 2) -> str:
    """The characters seen at least ``least`` times, sorted."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence.text)
    return "".join(sorted(c for c, n in counts.items() if n >= least and not c.isspace()))
