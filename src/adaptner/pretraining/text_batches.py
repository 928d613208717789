"""Endless batches of sentences of raw text files."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from adaptner.corpora.raw_text import read_sentences
from adaptner.errors import EmptyFile
from adaptner.types import Sentence

POOL = 50  # batches whose sentences are read together and sorted by length


def text_batches(
    files: Sequence[Path], size: int, max_words: int, seed: int
) -> Iterator[list[Sentence]]:
    """Yields batches of sentences of similar length, because the longest determines the cost."""
    rng = random.Random(seed)
    read = repeat_stream(files, max_words, rng)
    while True:
        pool = sorted(islice(read, POOL * size), key=len)
        batches = [pool[i : i + size] for i in range(0, len(pool), size)]
        rng.shuffle(batches)
        yield from batches


def repeat_stream(files: Sequence[Path], max_words: int, rng: random.Random) -> Iterator[Sentence]:
    """Yields sentences of random files, with probabilities proportional to their sizes.

    Thus a run that ends before the text does has read parts of every file.
    """
    streams = [_repeat(path, max_words) for path in files]
    sizes = [path.stat().st_size for path in files]
    while True:
        yield next(rng.choices(streams, sizes)[0])


def _repeat(path: Path, max_words: int) -> Iterator[Sentence]:
    while True:
        empty = True
        for line in read_sentences(path):
            sentence = Sentence.from_tokens(line.split(" ")[:max_words])
            if len(sentence) > 1:  # a single word has no context
                empty = False
                yield sentence
        if empty:
            raise EmptyFile(file=path, unit="sentence of two words or more")
