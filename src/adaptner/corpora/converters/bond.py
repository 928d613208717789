"""Converts the JSON files of BOND: words, and numbers of tags that a separate file defines."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptner.corpora.converters.columns import read_columns
from adaptner.corpora.converters.sentences import Splits, TaggedTokens, convert_to_bio
from adaptner.errors import RawFileUnusable
from adaptner.formats.lines import open_for_reading
from adaptner.text.schemes import DEFAULT_LABEL


def convert_bond(files: Mapping[str, Path], /) -> Splits:
    """Converts ``files`` by split; the file ``tags`` maps tags to numbers."""
    numbers = _json(files["tags"])
    if not isinstance(numbers, dict):
        raise _unusable(files["tags"], "it is not an object that maps tags to numbers")
    names = {number: tag for tag, number in numbers.items()}
    splits: Splits = {}
    for split, path in files.items():
        if split != "tags":
            sentences = [_tagged(item, names, path) for item in _items(path)]
            splits[split] = convert_to_bio(sentences, DEFAULT_LABEL)
    return splits


def convert_wikigold(files: Mapping[str, Path], /) -> Splits:
    """Assigns the sentences of ``gold`` to the splits of BOND that contain the same words.

    WikiGold has no splits, and the labels of BOND are not gold labels. The few sentences in several
    splits of BOND are assigned by their relative positions, because both files keep the order of
    the text.
    """
    positions: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    splits: Splits = {"train": [], "dev": [], "test": []}
    for split in splits:
        items = _items(files[split])
        for i, item in enumerate(items):
            words = tuple(item["str_words"])
            positions.setdefault(words, []).append((i / len(items), split))
    unassigned = {words: deque(sorted(copies)) for words, copies in positions.items()}
    for sentence in convert_to_bio(read_columns(files["gold"]), DEFAULT_LABEL):
        copies = unassigned.get(sentence.tokens)
        splits[copies.popleft()[1] if copies else "train"].append(sentence)
    return splits


def _items(path: Path) -> list[dict[str, Any]]:
    items = _json(path)
    if not isinstance(items, list) or not items:
        raise _unusable(path, "it is not a list of sentences")
    for i, item in enumerate(items, start=1):
        words = item.get("str_words") if isinstance(item, dict) else None
        if not isinstance(words, list) or not all(_is_word(w) for w in words):
            raise _unusable(path, f'sentence {i} has no list of words "str_words"')
    return items


def _is_word(word: object) -> bool:
    return isinstance(word, str) and word != "" and not any(c.isspace() for c in word)


def _tagged(item: dict[str, Any], names: Mapping[object, str], path: Path) -> TaggedTokens:
    words, numbers = item["str_words"], item.get("tags")
    if not isinstance(numbers, list) or len(numbers) != len(words):
        raise _unusable(
            path, f"{len(words)} words, but a different number of tags: {' '.join(words)[:60]}"
        )
    unknown = [n for n in numbers if not isinstance(n, int) or n not in names]
    if unknown:
        raise _unusable(path, f"tag number {unknown[0]!r} has no name")
    return TaggedTokens(tuple(words), tuple(names[n] for n in numbers))


def _json(path: Path) -> Any:
    with open_for_reading(path) as file:
        try:
            return json.loads(file.read())
        except ValueError as error:  # of JSON, or of UTF-8
            raise _unusable(path, f"it is not JSON ({error})") from None


def _unusable(path: Path, reason: str) -> RawFileUnusable:
    return RawFileUnusable(file=path, reason=reason, source="cliang1453/BOND")
