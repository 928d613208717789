"""Column files: a token and its tag a line, in any column and any scheme."""

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

_PIECE = re.compile(r"[^\W_]+|\S")  # runs of letters and digits; other marks alone


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
    """``files`` by split; with ``parts`` one file, ``all``, which is cut into splits.

    ``token`` and ``tag`` are columns. ``label`` becomes the type of every mention, ``types`` maps
    old types to new ones, ``resplit`` cuts tokens at punctuation, ``draw`` takes dev out of train.
    """
    splits: Splits = {}
    for split, path in files.items():
        sentences = convert_to_bio(read_columns(path, token, tag), label or DEFAULT_LABEL)
        if label is not None:
            sentences = [_relabelled(s, _always(label)) for s in sentences]
        if types is not None:
            sentences = [_relabelled(s, _mapped(types, path)) for s in sentences]
        splits[split] = [_cut_at_marks(s) for s in sentences] if resplit else sentences
    if parts:
        return split_60_20_20(splits["all"])
    if draw:
        return {**split_off_dev(splits["train"]), "test": splits["test"]}
    return splits


def read_columns(path: Path, token: int = 0, tag: int = -1) -> list[TaggedTokens]:
    """The sentences of a file as they stand there; blank and -DOCSTART- lines part them."""
    sentences: list[TaggedTokens] = []
    tokens: list[str] = []
    tags: list[str] = []

    def close() -> None:
        if tokens:
            sentences.append(TaggedTokens(tuple(tokens), tuple(tags)))
            tokens.clear()
            tags.clear()

    for number, columns in _lines(path):
        if not columns or columns[0] == "-DOCSTART-":
            close()
            continue
        if len(columns) < 2:
            raise _unusable(path, number, "a line with one column")
        tokens.append(_sound_token(columns[token], path, number))
        tags.append(_sound_tag(columns[tag], path, number))
    close()
    if not sentences:
        raise _unusable(path, None, "it holds no sentence")
    return sentences


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The number and the columns of each line; none for a blank one."""
    with open_for_reading(path) as file:
        for number, raw in enumerate(file, start=1):
            line = decode_line(raw, path, number).strip(" \t")
            # Not str.split() without argument: it parts at characters that are tokens somewhere.
            separator = "\t" if "\t" in line else " "
            yield number, [c for c in line.split(separator) if c]


def _sound_token(token: str, path: Path, number: int) -> str:
    if token.split() != [token]:
        raise _unusable(path, number, f"white space inside the token {token!r}")
    return token


def _sound_tag(tag: str, path: Path, number: int) -> str:
    try:
        parse_tag(tag)
    except UnknownTag:
        raise _unusable(path, number, f"{tag!r} is no tag") from None
    return tag


def _unusable(path: Path, line: int | None, reason: str) -> RawFileUnusable:
    return RawFileUnusable(file=path, line=line, reason=reason, source="its publisher")


def _relabelled(sentence: TaggedTokens, new: Callable[[str], str]) -> TaggedTokens:
    tags = tuple(tag if tag == "O" else f"{tag[0]}-{new(tag[2:])}" for tag in sentence.tags)
    return TaggedTokens(sentence.tokens, tags)


def _always(label: str) -> Callable[[str], str]:
    return lambda old: label


def _mapped(types: Mapping[str, str], path: Path) -> Callable[[str], str]:
    def new(old: str) -> str:
        if old not in types:
            raise _unusable(path, None, f"type {old!r} is none of {', '.join(types)}")
        return types[old]

    return new


def _cut_at_marks(sentence: TaggedTokens) -> TaggedTokens:
    tokens: list[str] = []
    tags: list[str] = []
    for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
        pieces = _PIECE.findall(token)
        tokens += pieces
        tags += [tag, *[tag if tag == "O" else f"I{tag[1:]}"] * (len(pieces) - 1)]
    return TaggedTokens(tuple(tokens), tuple(tags))
