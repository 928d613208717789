"""The joint vocabulary of several texts, with the frequency of each word in each text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adaptner.nn.batching.batch import Batch
from adaptner.nn.losses.sampled_softmax import EDGE, UNKNOWN
from adaptner.types import Sentence


@dataclass(frozen=True)
class Vocabulary:
    """``counts`` (texts, words) include unknown words and the edges of sentences."""

    number: dict[str, int]
    counts: Tensor
    sentences: tuple[int, ...]  # of each text
    read: frozenset[str]  # all words of the texts, including rare ones

    @classmethod
    def of(
        cls, texts: Sequence[Iterable[Sentence]], min_count: int = 2, max_words: int = 100_000
    ) -> Vocabulary:
        """The ``max_words`` most frequent words that occur at least ``min_count`` times in all texts."""
        counted: list[Counter[str]] = []
        sentences = []
        for text in texts:
            words: Counter[str] = Counter()
            number = 0
            for sentence in text:
                words.update(sentence.tokens)
                number += 1
            counted.append(words)
            sentences.append(number)
        total: Counter[str] = Counter()
        for words in counted:
            total.update(words)
        # by frequency, then alphabetically, so that the same texts give the same ids
        kept = sorted((w for w, n in total.items() if n >= min_count), key=lambda w: (-total[w], w))
        number_of = {word: place + 2 for place, word in enumerate(kept[:max_words])}
        counts = torch.zeros(len(texts), len(number_of) + 2)
        for row, words, size in zip(counts, counted, sentences, strict=True):
            known = [(number_of[w], n) for w, n in words.items() if w in number_of]
            if known:
                places, times = zip(*known, strict=True)
                row[list(places)] = torch.tensor(times, dtype=row.dtype)
            row[UNKNOWN] = words.total() - row.sum()
            row[EDGE] = size
        return cls(number_of, counts, tuple(sentences), frozenset(total))

    def __len__(self) -> int:
        return self.counts.shape[1]

    def numbers(self, sentences: Sequence[Sentence], batch: Batch, task: int) -> Tensor:
        """Word ids (B, L) of one task of ``batch``, which was made from ``sentences``, on its device."""
        mask = batch.mask[task]
        ids = torch.zeros(mask.shape, dtype=torch.long, device=mask.device)
        ids[mask] = torch.tensor(
            [
                self.number.get(word, UNKNOWN)
                for place in batch.order[task]
                for word in sentences[place].tokens
            ],
            device=mask.device,
        )
        return ids
