"""Raw text as batches of sentences, without end: the text again and again."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from adaptner.corpora.raw_text import read_sentences
from adaptner.errors import EmptyFile
from adaptner.types import Sentence

# So many batches' sentences are read at a time, mixed, and put with others of like length.
POOL = 50


def text_batches(
    files: Sequence[Path], size: int, longest: int, seed: int
) -> Iterator[list[Sentence]]:
    """Of ``size`` sentences of like length each, since the longest sets what a step costs."""
    rng = random.Random(seed)
    read = repeat_stream(files, longest, rng)
    while True:
        pool = sorted(islice(read, POOL * size), key=len)
        batches = [pool[i : i + size] for i in range(0, len(pool), size)]
        rng.shuffle(batches)
        yield from batches


def repeat_stream(files: Sequence[Path], longest: int, rng: random.Random) -> Iterator[Sentence]:
    """A sentence of this file, then of that, as often as its size is: a run that ends before the
    text does has read of every file."""
    streams = [_endless(path, longest) for path in files]
    sizes = [path.stat().st_size for path in files]
    while True:
        yield next(rng.choices(streams, sizes)[0])


def _endless(path: Path, longest: int) -> Iterator[Sentence]:
    while True:
        none = True
        for line in read_sentences(path):
            sentence = _sentence(line.split(" ")[:longest])
            if len(sentence) > 1:  # a lone word has no context
                none = False
                yield sentence
        if none:
            raise EmptyFile(file=path, unit="sentence of two words or more")


def _sentence(words: Sequence[str]) -> Sentence:
    spans, at = [], 0
    for word in words:
        spans.append((at, at + len(word)))
        at += len(word) + 1
    return Sentence(" ".join(words), tuple(spans))
