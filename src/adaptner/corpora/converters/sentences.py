"""The result of converters, and functions to write it and to draw splits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from adaptner.text.schemes import Scheme, detect_scheme, repair_tags, to_bio
from adaptner.types import OUTSIDE

SEED = 13  # of all draws of splits; the checksums of the catalogue depend on it


@dataclass(frozen=True, slots=True)
class TaggedTokens:
    """The tokens of a sentence and a tag for each."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]


Splits = dict[str, list[TaggedTokens]]


def to_conll_bytes(sentences: Iterable[TaggedTokens]) -> bytes:
    """Returns a ``.conll`` file, exactly as the checksums of the catalogue require it."""
    lines: list[str] = []
    for sentence in sentences:
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
            lines.append(f"{token}\t{tag}\n")
        lines.append("\n")
    return "".join(lines).encode("utf-8")


def convert_to_bio(sentences: Sequence[TaggedTokens], default_label: str) -> list[TaggedTokens]:
    """Converts sentences of any scheme to BIO.

    Unlike ``formats.conll`` it accepts mixed schemes, because published files contain them: S is read
    as B, E as I, and an I that continues no mention as B.
    """
    without_ends = [[_without_ends(tag) for tag in s.tags] for s in sentences]
    scheme = detect_scheme(without_ends)
    return [
        TaggedTokens(sentence.tokens, tuple(_as_bio(tags, scheme, default_label)))
        for sentence, tags in zip(sentences, without_ends, strict=True)
    ]


@lru_cache(maxsize=4096)  # A file repeats a few different tags many times.
def _without_ends(tag: str) -> str:
    return {"S": "B", "E": "I"}.get(tag[:1], tag[:1]) + tag[1:] if tag != OUTSIDE else tag


def _as_bio(tags: list[str], scheme: Scheme, default_label: str) -> list[str]:
    if tags.count(OUTSIDE) == len(tags):
        return tags
    if scheme is Scheme.IOB1:
        return to_bio(tags, scheme, default_label=default_label)
    return repair_tags(tags, Scheme.BIO, default_label=default_label)[0]


def split_off_dev(train: Sequence[TaggedTokens]) -> Splits:
    """Moves a random tenth (rounded up) of ``train`` to dev; both keep their order."""
    count = -(-len(train) // 10)
    dev = set(Random(SEED).sample(range(len(train)), count))
    return {
        "train": [s for i, s in enumerate(train) if i not in dev],
        "dev": [s for i, s in enumerate(train) if i in dev],
    }


def split_60_20_20(sentences: Sequence[TaggedTokens]) -> Splits:
    """Returns the first 60% as train, the next 20% as dev, and the rest as test."""
    first, second = int(len(sentences) * 0.6), int(len(sentences) * 0.8)
    return {
        "train": list(sentences[:first]),
        "dev": list(sentences[first:second]),
        "test": list(sentences[second:]),
    }


def split_80_10_10(sentences: Sequence[TaggedTokens]) -> Splits:
    """Returns a random 80% as train, 10% as dev, and the rest as test; all keep their order."""
    count = len(sentences)
    order = Random(SEED).sample(range(count), count)
    first = int(count * 0.8)
    second = first + int(count * 0.1)
    indices = {"train": order[:first], "dev": order[first:second], "test": order[second:]}
    return {
        split: [sentences[i] for i in sorted(split_indices)]
        for split, split_indices in indices.items()
    }
