"""Batches for a transformer: the sub-words of every sentence, in windows that the network can read.

Nothing is cut off: a sentence of more sub-words than the network reads at once has several windows
that overlap, and each word's state is taken from the one that shows more of what stands around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from adaptner.nn.batching.batch import Batch, Batcher, SortedSentences
from adaptner.nn.encoders.transformer.pretrained import PretrainedTransformer
from adaptner.types import LabelSet, Sentence

Alignment = Literal["first", "mean"]
# Of longer words the first and last halves are read, as with characters (nn/batching/word_batch.py).
MAX_WORD_SUBWORDS = 32
MAX_CACHED_WORDS = 200_000  # words; bounded, whatever a user tags


@dataclass(frozen=True)
class SubwordBatch(Batch):
    """``rows`` (G, N, S): the sub-words of each window, longest windows first."""

    lengths: tuple[tuple[int, ...], ...]  # of each task's windows; tasks may have fewer than N
    owner: Tensor  # (G, N, S) whose state the sub-word is part of: b * L + l, or B * L for nobody's
    parts: Tensor  # (G, B, L) how many sub-words a word's state is the mean of, at least 1


@dataclass(frozen=True)
class Window:
    """Words ``first`` to ``end`` are read, and the states of ``begin`` to ``stop`` are used."""

    first: int
    end: int
    begin: int
    stop: int


def overlapping_windows(sizes: Sequence[int], room: int, overlap: int) -> list[Window]:
    """Of words with so many sub-words each: at most ``room`` in a window and ``overlap`` in two."""
    found: list[tuple[int, int]] = []
    first = 0
    while not found or found[-1][1] < len(sizes):
        end, used = first, 0
        while end < len(sizes) and (end == first or used + sizes[end] <= room):
            used += sizes[end]
            end += 1
        found.append((first, end))
        again, shared = end, 0
        while again - 1 > first and shared + sizes[again - 1] <= overlap:
            again -= 1
            shared += sizes[again]
        first = again
    # Where two overlap, each has the half that is further from its border.
    borders = [0]
    for (_, end), (start, _) in pairwise(found):
        borders.append((start + end + 1) // 2)
    borders.append(len(sizes))
    return [
        Window(first, end, begin, stop)
        for (first, end), (begin, stop) in zip(found, pairwise(borders), strict=True)
    ]


class SubwordBatcher(Batcher):
    """``longest`` sub-words a window, with those that mark its ends; ``kept``: the rows of a table
    that holds these only (``narrowed``)."""

    def __init__(
        self,
        pretrained: PretrainedTransformer,
        alignment: Alignment,
        longest: int,
        overlap: int,
        kept: Sequence[int] | None = None,
    ) -> None:
        self.pretrained = pretrained
        self.alignment = alignment
        self.longest, self.overlap = longest, overlap
        self._known: dict[str, tuple[int, ...]] = {}
        tokenizer = pretrained.tokenizer
        tokenizer.no_truncation()
        tokenizer.no_padding()
        bare = tokenizer.encode("a", add_special_tokens=False).ids
        whole = tokenizer.encode("a").ids
        at = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
        self._before, self._after = whole[:at], whole[at + len(bare) :]
        self._unknown, self._padding = pretrained.unknown, pretrained.padding
        self._number = None if kept is None else {row: place for place, row in enumerate(kept)}

    def __call__(
        self, tasks: Sequence[Sequence[Sentence]], labels: Sequence[LabelSet] | None = None
    ) -> SubwordBatch:
        batch = super().__call__(tasks, labels)
        assert isinstance(batch, SubwordBatch)
        return batch

    def pieces(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """The sub-words of each word; one that the tokenizer makes nothing of is unknown."""
        known = self._known
        if len(known) > MAX_CACHED_WORDS:
            known = self._known = {}
        new = [w for w in dict.fromkeys(words) if w not in known]
        if new:
            found = self.pretrained.tokenizer.encode_batch(
                [[w] for w in new], is_pretokenized=True, add_special_tokens=False
            )
            most = min(MAX_WORD_SUBWORDS, self._room)
            for word, encoded in zip(new, found, strict=True):
                own = encoded.ids
                if len(own) > most:
                    own = own[: most // 2] + own[-(most - most // 2) :]
                known[word] = tuple(own) or (self._unknown,)
        return [known[w] for w in words]

    def restrict(
        self, sentences: Iterable[Sentence], words: Iterable[str] = ()
    ) -> tuple[Tensor, SubwordBatcher] | None:
        every = list(dict.fromkeys([*(w for s in sentences for w in s.tokens), *words]))
        rows = {row for own in self.pieces(every) for row in own}
        kept = sorted({*rows, *self._before, *self._after, self._unknown, self._padding})
        fewer = SubwordBatcher(self.pretrained, self.alignment, self.longest, self.overlap, kept)
        return torch.tensor(kept), fewer

    @property
    def _room(self) -> int:
        return self.longest - len(self._before) - len(self._after)

    def _read(self, arranged: SortedSentences) -> SubwordBatch:
        tasks, sentences, length = arranged.mask.shape
        nobody = sentences * length
        parts = np.ones(arranged.mask.shape, dtype=np.float32)
        read: list[list[tuple[list[int], list[int]]]] = []  # sub-words and owners of each window
        for own, task in zip(parts, arranged.tasks, strict=True):
            found = []
            for place, sentence in enumerate(task):
                pieces = self.pieces(sentence.tokens)
                if self.alignment == "mean":
                    own[place, : len(pieces)] = [len(p) for p in pieces]
                sizes = [len(p) for p in pieces]
                for window in overlapping_windows(sizes, self._room, self.overlap) if sizes else ():
                    found.append(self._window(pieces, window, place * length, nobody))
            read.append(sorted(found, key=lambda pair: -len(pair[0])))
        most = max(map(len, read))
        widest = max(len(subwords) for task in read for subwords, _ in task)
        rows = np.full((tasks, most, widest), self._renumbered([self._padding])[0])
        owner = np.full(rows.shape, nobody)
        for g, task_windows in enumerate(read):
            for n, (subwords, owners) in enumerate(task_windows):
                rows[g, n, : len(subwords)] = self._renumbered(subwords)
                owner[g, n, : len(owners)] = owners
        return SubwordBatch(
            rows=torch.from_numpy(rows),
            mask=torch.from_numpy(arranged.mask),
            tags=arranged.tags,
            order=arranged.order,
            lengths=tuple(tuple(len(subwords) for subwords, _ in task) for task in read),
            owner=torch.from_numpy(owner),
            parts=torch.from_numpy(parts),
        )

    def _window(
        self, pieces: Sequence[tuple[int, ...]], window: Window, offset: int, nobody: int
    ) -> tuple[list[int], list[int]]:
        subwords, owners = list(self._before), [nobody] * len(self._before)
        for word in range(window.first, window.end):
            own = pieces[word]
            subwords += own
            used = window.begin <= word < window.stop
            counted = 0 if not used else 1 if self.alignment == "first" else len(own)
            owners += [offset + word] * counted + [nobody] * (len(own) - counted)
        return subwords + self._after, owners + [nobody] * len(self._after)

    def _renumbered(self, rows: Sequence[int]) -> Sequence[int]:
        if self._number is None:
            return rows
        unknown = self._number[self._unknown]
        return [self._number.get(row, unknown) for row in rows]
