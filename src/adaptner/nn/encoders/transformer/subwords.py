"""Batches for a transformer: the sub-words of every sentence, in windows that the network can read.

A sentence of more sub-words than the network can read at once is split into overlapping windows, and the
state of each word is taken from the window that shows more of its context.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from adaptner.nn.batching.batch import Batch, Batcher, SortedSentences
from adaptner.nn.encoders.config import SubwordPooling, TransformerConfig
from adaptner.nn.encoders.transformer.pretrained import PretrainedTransformer, find_pretrained
from adaptner.types import LabelSet, Sentence

# Longer words are cut in the middle, as in nn/batching/word_batch.py.
MAX_WORD_SUBWORDS = 32
MAX_CACHED_WORDS = 200_000  # bounds the memory, however much text is tagged


@dataclass(frozen=True)
class SubwordBatch(Batch):
    """``rows`` (G, N, S) are the sub-words of N windows, longest window first."""

    lengths: tuple[tuple[int, ...], ...]  # of the windows of each task, at most N
    # (G, N, S) the word b * L + l whose state the sub-word is part of; B * L for none
    owner: Tensor
    parts: Tensor  # (G, B, L) number of sub-words in a word's state, at least 1


@dataclass(frozen=True)
class Window:
    """The words ``first`` to ``end`` are read; the states of ``begin`` to ``stop`` are used."""

    first: int
    end: int
    begin: int
    stop: int


def overlapping_windows(sizes: Sequence[int], room: int, overlap: int) -> list[Window]:
    """Windows over words with ``sizes`` sub-words each: at most ``room`` sub-words in a window, of which at
    most ``overlap`` are in the next one too."""
    spans: list[tuple[int, int]] = []
    first = 0
    while not spans or spans[-1][1] < len(sizes):
        end, used = first, 0
        while end < len(sizes) and (end == first or used + sizes[end] <= room):
            used += sizes[end]
            end += 1
        spans.append((first, end))
        following, shared = end, 0
        while following - 1 > first and shared + sizes[following - 1] <= overlap:
            following -= 1
            shared += sizes[following]
        first = following
    # Of an overlap, each window provides the half that is further from its border.
    borders = [0]
    for (_, end), (start, _) in pairwise(spans):
        borders.append((start + end + 1) // 2)
    borders.append(len(sizes))
    return [
        Window(first, end, begin, stop)
        for (first, end), (begin, stop) in zip(spans, pairwise(borders), strict=True)
    ]


class SubwordBatcher(Batcher):
    """Windows have at most ``longest`` sub-words, with the special ones at their ends. ``kept`` are the rows
    of a restricted embedding table."""

    def __init__(
        self,
        pretrained: PretrainedTransformer,
        alignment: SubwordPooling,
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
        plain = tokenizer.encode("a", add_special_tokens=False).ids
        full = tokenizer.encode("a").ids
        start = next(i for i in range(len(full)) if full[i : i + len(plain)] == plain)
        self._before, self._after = full[:start], full[start + len(plain) :]
        self._unknown, self._padding = pretrained.unknown, pretrained.padding
        self._number = None if kept is None else {row: place for place, row in enumerate(kept)}

    def __call__(
        self, tasks: Sequence[Sequence[Sentence]], labels: Sequence[LabelSet] | None = None
    ) -> SubwordBatch:
        batch = super().__call__(tasks, labels)
        assert isinstance(batch, SubwordBatch)
        return batch

    def pieces(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """The sub-words of each word; the unknown sub-word if the tokenizer returns none."""
        known = self._known
        if len(known) > MAX_CACHED_WORDS:
            known = self._known = {}
        new = [w for w in dict.fromkeys(words) if w not in known]
        if new:
            encodings = self.pretrained.tokenizer.encode_batch(
                [[w] for w in new], is_pretokenized=True, add_special_tokens=False
            )
            limit = min(MAX_WORD_SUBWORDS, self._room)
            for word, encoding in zip(new, encodings, strict=True):
                ids = encoding.ids
                if len(ids) > limit:
                    ids = ids[: limit // 2] + ids[-(limit - limit // 2) :]
                known[word] = tuple(ids) or (self._unknown,)
        return [known[w] for w in words]

    def restrict(
        self, sentences: Iterable[Sentence], words: Iterable[str] = ()
    ) -> tuple[Tensor, SubwordBatcher] | None:
        distinct = list(dict.fromkeys([*(w for s in sentences for w in s.tokens), *words]))
        rows = {row for pieces in self.pieces(distinct) for row in pieces}
        kept = sorted({*rows, *self._before, *self._after, self._unknown, self._padding})
        restricted = SubwordBatcher(
            self.pretrained, self.alignment, self.longest, self.overlap, kept
        )
        return torch.tensor(kept), restricted

    @property
    def _room(self) -> int:
        return self.longest - len(self._before) - len(self._after)

    def _make_batch(self, sentences: SortedSentences) -> SubwordBatch:
        tasks, sentence_count, length = sentences.mask.shape
        no_word = sentence_count * length
        parts = np.ones(sentences.mask.shape, dtype=np.float32)
        by_task: list[list[tuple[list[int], list[int]]]] = []  # sub-words and owners of each window
        for task_parts, task in zip(parts, sentences.tasks, strict=True):
            windows = []
            for place, sentence in enumerate(task):
                pieces = self.pieces(sentence.tokens)
                if self.alignment == "mean":
                    task_parts[place, : len(pieces)] = [len(p) for p in pieces]
                sizes = [len(p) for p in pieces]
                for window in overlapping_windows(sizes, self._room, self.overlap) if sizes else ():
                    windows.append(self._window(pieces, window, place * length, no_word))
            by_task.append(sorted(windows, key=lambda pair: -len(pair[0])))
        count = max(map(len, by_task))
        width = max(len(subwords) for task in by_task for subwords, _ in task)
        rows = np.full((tasks, count, width), self._renumbered([self._padding])[0])
        owner = np.full(rows.shape, no_word)
        for g, task_windows in enumerate(by_task):
            for n, (subwords, owners) in enumerate(task_windows):
                rows[g, n, : len(subwords)] = self._renumbered(subwords)
                owner[g, n, : len(owners)] = owners
        return SubwordBatch(
            rows=torch.from_numpy(rows),
            mask=torch.from_numpy(sentences.mask),
            tags=sentences.tags,
            order=sentences.order,
            lengths=tuple(tuple(len(subwords) for subwords, _ in task) for task in by_task),
            owner=torch.from_numpy(owner),
            parts=torch.from_numpy(parts),
        )

    def _window(
        self, pieces: Sequence[tuple[int, ...]], window: Window, offset: int, no_word: int
    ) -> tuple[list[int], list[int]]:
        subwords, owners = list(self._before), [no_word] * len(self._before)
        for word in range(window.first, window.end):
            subwords += pieces[word]
            size = len(pieces[word])
            used = window.begin <= word < window.stop
            counted = 0 if not used else 1 if self.alignment == "first" else size
            owners += [offset + word] * counted + [no_word] * (size - counted)
        return subwords + self._after, owners + [no_word] * len(self._after)

    def _renumbered(self, rows: Sequence[int]) -> Sequence[int]:
        if self._number is None:
            return rows
        unknown = self._number[self._unknown]
        return [self._number.get(row, unknown) for row in rows]


def subword_batcher(
    config: TransformerConfig, pretrained: PretrainedTransformer | None = None
) -> SubwordBatcher:
    """A batcher for ``pretrained``, by default the transformer called ``config.name``."""
    found = pretrained or find_pretrained(config.name)
    return SubwordBatcher(found, config.subwords, config.max_length, config.overlap)
