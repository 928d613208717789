"""Endless batches of unlabelled sentences, in memory or streamed from files."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path

from adaptner.corpora.raw_text import read_lines
from adaptner.errors import TooFewSentences
from adaptner.text.alignment import to_sentences
from adaptner.types import Document, Sentence

BATCHES_IN_POOL = 50  # batches of a stream that are read and shuffled together


@dataclass(frozen=True)
class RawTextFiles:
    """The sentences of raw text files (.txt, .gz, .xz), read again in each iteration.

    A line may contain several sentences, but a sentence must not continue in the next line.
    """

    paths: tuple[Path, ...]

    def __iter__(self) -> Iterator[Sentence]:
        for path in self.paths:
            for line in read_lines(path):
                yield from to_sentences(Document(line))


@dataclass(frozen=True)
class ChainedSentences:
    """The sentences of several texts in sequence."""

    parts: tuple[Iterable[Sentence], ...]

    def __iter__(self) -> Iterator[Sentence]:
        return chain.from_iterable(self.parts)


@dataclass(frozen=True)
class SentenceStream:
    """The sentences of all ``parts`` without labels, alternating between the parts.

    At most ``most`` sentences of each part are read, and the first ``longest`` tokens of each.
    """

    parts: tuple[Iterable[Sentence], ...]
    most: int | None = None
    longest: int = 100

    def __iter__(self) -> Iterator[Sentence]:
        streams = [islice((s for s in part if len(s)), self.most) for part in self.parts]
        for sentence in chain.from_iterable(zip_longest(*streams)):
            if sentence is not None:
                yield Sentence(sentence.text, sentence.token_spans[: self.longest])


def endless_batches(
    sentences: Iterable[Sentence], size: int, rng: random.Random
) -> Iterator[list[Sentence]]:
    """Yields batches of ``size`` shuffled sentences; each sentence once before any repeats.

    A list is shuffled as a whole, a stream in pools of BATCHES_IN_POOL batches. If there are fewer
    than ``size`` sentences, a batch repeats some.
    """
    pool = len(sentences) if isinstance(sentences, Sequence) else BATCHES_IN_POOL * size
    queue: list[Sentence] = []
    while True:
        stream, empty = iter(sentences), True
        while pooled := list(islice(stream, pool)):
            empty = False
            rng.shuffle(pooled)
            queue += pooled
            while len(queue) >= size:
                yield queue[:size]
                del queue[:size]
        if empty:
            raise TooFewSentences(found=0, what="the text", needed=1, option="more text")
