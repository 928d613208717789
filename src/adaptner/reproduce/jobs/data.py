"""Corpora in the data folder: their checksums, and the splits that protocols use."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from adaptner.corpora.corpus import Corpus, combined_digest, load_corpus, split_files
from adaptner.errors import DataChanged
from adaptner.reproduce.tables.protocol import WHOLE_SUFFIX, folder_of
from adaptner.types import Sentence

PlannedCorpus = tuple[str, str]  # place in the data folder, checksum when the job was planned

# Ruling "Homogeneous setting": SciTech is one set of 2,000 sentences; Webpage has gold labels only in
# dev and test.
ONE_SET = "news/scitech"
DEV_IS_TRAIN = "general/webpage"
_SEED, _SHARE = 13, 0.7


def checksum(root: Path, place: str) -> str:
    """Equals ``Corpus.sha256``, without reading the sentences."""
    return combined_digest(split_files(root / folder_of(place)))


def load_planned(root: Path, planned: PlannedCorpus) -> Corpus:
    """Raises ``DataChanged`` if the corpus is not the one that was planned with."""
    place, expected = planned
    corpus = load_corpus(root / folder_of(place))
    if corpus.sha256 != expected:
        raise DataChanged(
            file=root / place, corpus=place, planned=expected[:12], found=corpus.sha256[:12]
        )
    return corpus


def as_source(root: Path, planned: PlannedCorpus) -> Corpus:
    corpus = load_planned(root, planned)
    if planned[0] == ONE_SET:
        return _with_splits(corpus, train=corpus.split("test"))
    return corpus


def as_target(root: Path, planned: PlannedCorpus) -> Corpus:
    corpus = load_planned(root, planned)
    if planned[0].endswith(WHOLE_SUFFIX):
        return _with_splits(corpus, train=corpus.split("test"), test=corpus.split("test"))
    if planned[0] == ONE_SET:
        sentences = list(corpus.split("test"))
        random.Random(_SEED).shuffle(sentences)
        cut = round(_SHARE * len(sentences))
        return _with_splits(corpus, train=sentences[:cut], test=sentences[cut:])
    if planned[0] == DEV_IS_TRAIN:
        return _with_splits(corpus, train=corpus.split("dev"), test=corpus.split("test"))
    return corpus


def _with_splits(corpus: Corpus, **splits: Sequence[Sentence]) -> Corpus:
    parts = {name: tuple(sentences) for name, sentences in splits.items()}
    return replace(corpus, sentences=MappingProxyType(parts))
