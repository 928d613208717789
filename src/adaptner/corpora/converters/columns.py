"""Converts column files: one token and its tag per line, in any column and any scheme."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from adaptner.corpora.converters.sentences import (
    Splits,
    TaggedTokens,
    convert_to_bio,
    split_60_20_20,
    split_off_dev,
)
from adaptner.errors import RawFileUnusable, UnknownTag
from adaptner.formats.lines import decode_line, open_for_reading
from adaptner.text.schemes import DEFAULT_LABEL, parse_tag

_TOKEN = re.compile(r"[^\W_]+|\S")  # a run of letters and digits, or another character


def convert_columns(
    files: Mapping[str, Path],
    /,
    *,
    token: int = 0,
    tag: int = -1,
    label: str | None = None,
    types: Mapping[str, str] | None = None,
    resplit: bool = False,
    draw: bool = False,
    parts: bool = False,
) -> Splits:
    """Converts ``files`` by split or, with ``parts``, a single file ``all``, which is split 60/20/20.

    ``token`` and ``tag`` are columns. ``label`` replaces the label of every mention, and ``types``
    maps labels to others. ``resplit`` splits tokens at punctuation, and ``draw`` draws dev from train.
    """
    splits: Splits = {}
    for split, path in files.items():
        sentences = convert_to_bio(read_columns(path, token, tag), label or DEFAULT_LABEL)
        if label is not None:
            sentences = [_relabel(s, lambda old: label) for s in sentences]
        if types is not None:
            sentences = [_relabel(s, _mapping(types, path)) for s in sentences]
        splits[split] = [_split_tokens(s) for s in sentences] if resplit else sentences
    if parts:
        return split_60_20_20(splits["all"])
    if draw:
        return {**split_off_dev(splits["train"]), "test": splits["test"]}
    return splits


def read_columns(path: Path, token: int = 0, tag: int = -1) -> list[TaggedTokens]:
    """Returns the sentences of a file unchanged; blank and -DOCSTART- lines separate them."""
    sentences: list[TaggedTokens] = []
    tokens: list[str] = []
    tags: list[str] = []

    def end_sentence() -> None:
        if tokens:
            sentences.append(TaggedTokens(tuple(tokens), tuple(tags)))
            tokens.clear()
            tags.clear()

    for number, columns in _lines(path):
        if not columns or columns[0] == "-DOCSTART-":
            end_sentence()
            continue
        if len(columns) < 2:
            raise _unusable(path, number, "the line has only one column")
        tokens.append(_checked_token(columns[token], path, number))
        tags.append(_checked_tag(columns[tag], path, number))
    end_sentence()
    if not sentences:
        raise _unusable(path, None, "it contains no sentences")
    return sentences


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yields the number and the columns of each line; a blank line has no columns."""
    with open_for_reading(path) as file:
        for number, raw in enumerate(file, start=1):
            line = decode_line(raw, path, number).strip(" \t")
            # str.split() without an argument would split at characters that are tokens in SciTech.
            separator = "\t" if "\t" in line else " "
            yield number, [c for c in line.split(separator) if c]


def _checked_token(token: str, path: Path, number: int) -> str:
    if token.split() != [token]:
        raise _unusable(path, number, f"white space inside the token {token!r}")
    return token


def _checked_tag(tag: str, path: Path, number: int) -> str:
    try:
        parse_tag(tag)
    except UnknownTag:
        raise _unusable(path, number, f"{tag!r} is not a tag") from None
    return tag


def _unusable(path: Path, line: int | None, reason: str) -> RawFileUnusable:
    return RawFileUnusable(file=path, line=line, reason=reason, source="its publisher")


def _relabel(sentence: TaggedTokens, new: Callable[[str], str]) -> TaggedTokens:
    tags = tuple(tag if tag == "O" else f"{tag[0]}-{new(tag[2:])}" for tag in sentence.tags)
    return TaggedTokens(sentence.tokens, tags)


def _mapping(types: Mapping[str, str], path: Path) -> Callable[[str], str]:
    def new_label(old: str) -> str:
        if old not in types:
            raise _unusable(path, None, f"unknown type {old!r}, expected {', '.join(types)}")
        return types[old]

    return new_label


def _split_tokens(sentence: TaggedTokens) -> TaggedTokens:
    tokens: list[str] = []
    tags: list[str] = []
    for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
        parts = _TOKEN.findall(token)
        tokens += parts
        tags += [tag, *[tag if tag == "O" else f"I{tag[1:]}"] * (len(parts) - 1)]
    return TaggedTokens(tuple(tokens), tuple(tags))
