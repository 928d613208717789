"""The joint vocabulary of several texts, and how often each word stands in each of them."""

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
    """``counts`` (texts, words): unknown words and the edges of sentences are counted too."""

    number: dict[str, int]
    counts: Tensor
    sentences: tuple[int, ...]  # of each text
    read: frozenset[str]  # every word of the texts, the rare ones too

    @classmethod
    def of(
        cls, texts: Sequence[Iterable[Sentence]], least: int = 2, most: int = 100_000
    ) -> Vocabulary:
        """The ``most`` frequent words of all texts together that occur ``least`` times."""
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
        every: Counter[str] = Counter()
        for words in counted:
            every.update(words)
        # by frequency, and alphabetically among equals: the same texts give the same numbers
        kept = sorted((w for w, n in every.items() if n >= least), key=lambda w: (-every[w], w))
        number_of = {word: place + 2 for place, word in enumerate(kept[:most])}
        counts = torch.zeros(len(texts), len(number_of) + 2)
        for own, words, size in zip(counts, counted, sentences, strict=True):
            known = [(number_of[w], n) for w, n in words.items() if w in number_of]
            if known:
                places, times = zip(*known, strict=True)
                own[list(places)] = torch.tensor(times, dtype=own.dtype)
            own[UNKNOWN] = words.total() - own.sum()
            own[EDGE] = size
        return cls(number_of, counts, tuple(sentences), frozenset(every))

    def __len__(self) -> int:
        return self.counts.shape[1]

    def numbers(self, sentences: Sequence[Sentence], batch: Batch, task: int) -> Tensor:
        """(B, L) of one task of ``batch``, which was made of ``sentences``."""
        found = torch.zeros(batch.mask.shape[1:], dtype=torch.long)
        found[batch.mask[task]] = torch.tensor(
            [
                self.number.get(word, UNKNOWN)
                for place in batch.order[task]
                for word in sentences[place].tokens
            ]
        )
        return found
