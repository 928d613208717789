"""What converters return, how it is written down, and how one set of sentences becomes splits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from adaptner.text.schemes import Scheme, detect_scheme, repair_tags, to_bio
from adaptner.types import OUTSIDE

SEED = 13  # of every draw that a corpus without splits needs


@dataclass(frozen=True, slots=True)
class TaggedTokens:
    """A sentence: tokens, and as many tags."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]


Splits = dict[str, list[TaggedTokens]]


def to_conll_bytes(sentences: Iterable[TaggedTokens]) -> bytes:
    """A ``.conll`` file, byte for byte as the checksums of the catalogue want it."""
    pieces: list[str] = []
    for sentence in sentences:
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
            pieces.append(f"{token}\t{tag}\n")
        pieces.append("\n")
    return "".join(pieces).encode("utf-8")


def convert_to_bio(sentences: Sequence[TaggedTokens], default_label: str) -> list[TaggedTokens]:
    """The same sentences in BIO, whatever the scheme.

    More forgiving than ``formats.conll``, which refuses a mixture: published files are what they
    are. S is read as B and E as I, and an I that continues nothing as B.
    """
    plain = [[_without_ends(tag) for tag in s.tags] for s in sentences]
    scheme = detect_scheme(plain)
    return [
        TaggedTokens(sentence.tokens, tuple(_as_bio(tags, scheme, default_label)))
        for sentence, tags in zip(sentences, plain, strict=True)
    ]


@lru_cache(maxsize=4096)  # a file has few different tags, each many times
def _without_ends(tag: str) -> str:
    return {"S": "B", "E": "I"}.get(tag[:1], tag[:1]) + tag[1:] if tag != OUTSIDE else tag


def _as_bio(tags: list[str], scheme: Scheme, default_label: str) -> list[str]:
    if tags.count(OUTSIDE) == len(tags):
        return tags
    if scheme is Scheme.IOB1:
        return to_bio(tags, scheme, default_label=default_label)
    return repair_tags(tags, Scheme.BIO, default_label=default_label)[0]


def split_off_dev(train: Sequence[TaggedTokens]) -> Splits:
    """A tenth (rounded up) of ``train`` as dev; both stay in their order."""
    count = -(-len(train) // 10)
    chosen = set(Random(SEED).sample(range(len(train)), count))
    return {
        "train": [s for i, s in enumerate(train) if i not in chosen],
        "dev": [s for i, s in enumerate(train) if i in chosen],
    }


def split_60_20_20(sentences: Sequence[TaggedTokens]) -> Splits:
    """The first 60% as train, the next 20% as dev, the rest as test."""
    first, second = int(len(sentences) * 0.6), int(len(sentences) * 0.8)
    return {
        "train": list(sentences[:first]),
        "dev": list(sentences[first:second]),
        "test": list(sentences[second:]),
    }


def split_80_10_10(sentences: Sequence[TaggedTokens]) -> Splits:
    """A random 80% as train, 10% as dev, the rest as test; each stays in its order."""
    count = len(sentences)
    order = Random(SEED).sample(range(count), count)
    first = int(count * 0.8)
    second = first + int(count * 0.1)
    parts = {"train": order[:first], "dev": order[first:second], "test": order[second:]}
    return {split: [sentences[i] for i in sorted(places)] for split, places in parts.items()}
