"""Sentences without labels, gone through again and again: in memory, or streamed from files."""

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

BATCHES_IN_POOL = 50  # so many batches of a text are read at a time and mixed


@dataclass(frozen=True)
class RawTextFiles:
    """The sentences of raw text files (.txt, .gz, .xz), read anew each time and never held: a line
    may have several, but none goes on in the next line."""

    paths: tuple[Path, ...]

    def __iter__(self) -> Iterator[Sentence]:
        for path in self.paths:
            for line in read_lines(path):
                yield from to_sentences(Document(line))


@dataclass(frozen=True)
class ChainedSentences:
    """The sentences of several texts, one text after another."""

    parts: tuple[Iterable[Sentence], ...]

    def __iter__(self) -> Iterator[Sentence]:
        return chain.from_iterable(self.parts)


@dataclass(frozen=True)
class SentenceStream:
    """The sentences of all ``parts``, one of each in turn, without their labels. ``most`` of each
    part are read; of a sentence, ``longest`` words."""

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
    """Every sentence once before any comes again. A list is mixed whole, a stream with what stands
    near. Where there are fewer than ``size``, a batch has some more than once."""
    pool = len(sentences) if isinstance(sentences, Sequence) else BATCHES_IN_POOL * size
    queue: list[Sentence] = []
    while True:
        stream, nothing = iter(sentences), True
        while read := list(islice(stream, pool)):
            nothing = False
            rng.shuffle(read)
            queue += read
            while len(queue) >= size:
                yield queue[:size]
                del queue[:size]
        if nothing:
            raise TooFewSentences(found=0, what="the text", needed=1, option="more text")
