"""The data folder of a run: corpora by their place in it, their checksums, and how they are split."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from adaptner.corpora.corpus import Corpus, combined_digest, load_corpus, split_files
from adaptner.errors import DataChanged
from adaptner.reproduce.tables.protocol import WHOLE, folder_of
from adaptner.types import Sentence

# A corpus and the checksum it is known by.
Known = tuple[str, str]

# Ruling "Homogeneous setting": SciTech is one set of 2,000 sentences, Webpage has gold labels in dev
# and test only.
ONE_SET = "news/scitech"
DEV_IS_TRAIN = "general/webpage"
_SEED, _SHARE = 13, 0.7


def checksum(root: Path, place: str) -> str:
    """As ``Corpus.sha256``, without reading the sentences."""
    return combined_digest(split_files(root / folder_of(place)))


def load(root: Path, known: Known) -> Corpus:
    """The corpus, if it is still the one that was planned with."""
    place, wanted = known
    corpus = load_corpus(root / folder_of(place))
    if corpus.sha256 != wanted:
        raise DataChanged(
            file=root / place, corpus=place, planned=wanted[:12], found=corpus.sha256[:12]
        )
    return corpus


def as_source(root: Path, known: Known) -> Corpus:
    corpus = load(root, known)
    if known[0] == ONE_SET:
        return _split(corpus, train=corpus.split("test"))
    return corpus


def as_target(root: Path, known: Known) -> Corpus:
    corpus = load(root, known)
    if known[0].endswith(WHOLE):
        return _split(corpus, train=corpus.split("test"), test=corpus.split("test"))
    if known[0] == ONE_SET:
        every = list(corpus.split("test"))
        random.Random(_SEED).shuffle(every)
        cut = round(_SHARE * len(every))
        return _split(corpus, train=every[:cut], test=every[cut:])
    if known[0] == DEV_IS_TRAIN:
        return _split(corpus, train=corpus.split("dev"), test=corpus.split("test"))
    return corpus


def _split(corpus: Corpus, **splits: Sequence[Sentence]) -> Corpus:
    parts = {name: tuple(sentences) for name, sentences in splits.items()}
    return replace(corpus, sentences=MappingProxyType(parts))
