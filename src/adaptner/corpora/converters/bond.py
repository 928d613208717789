"""The JSON files of BOND: words, and tags as numbers whose meaning stands in a file of its own."""

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
    """``files``: one per split, and ``tags``, the numbers of the tags."""
    numbers = _json(files["tags"])
    if not isinstance(numbers, dict):
        raise _unusable(files["tags"], "it is not an object of tags and their numbers")
    names = {number: tag for tag, number in numbers.items()}
    splits: Splits = {}
    for split, path in files.items():
        if split != "tags":
            sentences = [_tagged(item, names, path) for item in _items(path)]
            splits[split] = convert_to_bio(sentences, DEFAULT_LABEL)
    return splits


def convert_wikigold(files: Mapping[str, Path], /) -> Splits:
    """The sentences and labels of ``gold``, each in the split whose BOND file has its words.

    Upstream has no splits, and BOND's labels are not gold ones. The few sentences that BOND has in
    several splits go to them in the order in which BOND has them; both keep the order of the text.
    """
    places: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    splits: Splits = {"train": [], "dev": [], "test": []}
    for split in splits:
        items = _items(files[split])
        for i, item in enumerate(items):
            words = tuple(item["str_words"])
            places.setdefault(words, []).append((i / len(items), split))
    waiting = {words: deque(sorted(found)) for words, found in places.items()}
    for sentence in convert_to_bio(read_columns(files["gold"]), DEFAULT_LABEL):
        copies = waiting.get(sentence.tokens)
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
        raise _unusable(path, f"{len(words)} words, but not as many tags: {' '.join(words)[:60]}")
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
