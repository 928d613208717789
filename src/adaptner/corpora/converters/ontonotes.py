"""OntoNotes 5.0 in the column files of CoNLL-2012: the column of names, as BIO.

A line has the document, the part, the number of the word, the word, ...; names stand in the eleventh
column as brackets: ``(PERSON*``, ``*``, ``*)``, ``(GPE)``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from adaptner.corpora.converters.folders import (
    ConversionProgress,
    ConversionResult,
    no_conversion_progress,
)
from adaptner.corpora.converters.sentences import Splits, TaggedTokens
from adaptner.corpora.corpus import SPLITS
from adaptner.errors import RawFilesMissing, RawFileUnusable
from adaptner.formats.lines import decode_line, open_for_reading

NAME = "general/ontonotes5"

_WORD, _NAMES, _FEWEST_COLUMNS = 3, 10, 12
_SPLITS = {"train": "train", "development": "dev", "dev": "dev", "test": "test"}
_BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}
_CELL = re.compile(r"(\((?P<opened>[^()*]+))?\*?(?P<closed>\))?")
_WITHOUT_NAMES = (
    "pt"  # the New Testament: no names are marked, so it would teach that there are none
)
_LAYOUT = (
    "give the folder of the CoNLL-2012 files made from OntoNotes 5.0, with train, development and "
    "test folders in it and files that end in gold_conll"
)


def convert_ontonotes(
    folder: Path, progress: ConversionProgress = no_conversion_progress
) -> ConversionResult:
    """The English files below ``folder``, by the split folder they are in."""
    files = _files(folder)
    if not files:
        raise RawFilesMissing(file=folder, what="CoNLL-2012 file", layout=_LAYOUT)
    there = {split for _, split in files}
    splits: Splits = {split: [] for split in SPLITS if split in there}
    left_out: Counter[str] = Counter()
    for number, (path, split) in enumerate(files, start=1):
        for genre, sentence in _sentences(path):
            if genre == _WITHOUT_NAMES:
                left_out["sentences of the New Testament, where no names are marked"] += 1
            else:
                splits[split].append(sentence)
        progress(number, len(files))
    return ConversionResult({NAME: splits}, left_out)


def _files(folder: Path) -> list[tuple[Path, str]]:
    """Each document's file once, with its split (a newer version, v9_gold_conll, comes later)."""
    chosen: dict[tuple[Path, str], tuple[Path, str]] = {}
    for path in sorted(folder.rglob("*gold_conll")):
        split = _split(path, folder)
        if split is not None:
            chosen[path.parent, path.name.partition(".")[0]] = path, split
    return list(chosen.values())


def _split(path: Path, folder: Path) -> str | None:
    """The split of a file; None for another language."""
    parts = [part.lower() for part in path.relative_to(folder).parts[:-1]]
    if {"arabic", "chinese"} & set(parts):
        return None
    found = [_SPLITS[part] for part in parts if part in _SPLITS]
    return found[0] if found else None


def _sentences(path: Path) -> Iterator[tuple[str, TaggedTokens]]:
    """Each sentence with its genre, which is the first part of the document's name."""
    words: list[str] = []
    tags: list[str] = []
    genre = ""
    inside = ""  # the type of the name that is open
    with open_for_reading(path) as file:
        for number, raw in enumerate(file, start=1):
            line = decode_line(raw, path, number).strip()
            if line and not line.startswith("#"):
                columns = line.split()
                if len(columns) < _FEWEST_COLUMNS:
                    reason = f"line {number} has {len(columns)} columns, where CoNLL-2012 has {_FEWEST_COLUMNS} or more"
                    raise _unusable(path, reason)
                genre = columns[0].partition("/")[0]
                words.append(_word(columns[_WORD], path))
                tag, inside = _tag(columns[_NAMES], inside, path, number)
                tags.append(tag)
                continue
            if inside:
                raise _unusable(path, f"the name before line {number} does not end")
            if words:
                yield genre, TaggedTokens(tuple(words), tuple(tags))
                words, tags = [], []
    if words:
        yield genre, TaggedTokens(tuple(words), tuple(tags))


def _tag(cell: str, inside: str, path: Path, number: int) -> tuple[str, str]:
    """The BIO tag of a cell, and the type of the name that is open after it."""
    match = _CELL.fullmatch(cell)
    if (
        match is None
        or (match["opened"] and inside)
        or (match["closed"] and not (match["opened"] or inside))
    ):
        raise _unusable(path, f"line {number}: {cell!r} is no bracket of a name here")
    label = match["opened"] or inside
    tag = f"B-{label}" if match["opened"] else f"I-{label}" if inside else "O"
    return tag, "" if match["closed"] else label


def _word(word: str, path: Path) -> str:
    """The word as it was written: brackets are spelled out in the files, marks begin with '/'."""
    if word == "[WORD]":
        raise _unusable(path, "it is a skeleton without words; run skeleton2conll.sh first")
    if len(word) == 2 and word[0] == "/" and word[1] in ".?!-,":
        return word[1]
    return _BRACKETS.get(word, word)


def _unusable(path: Path, reason: str) -> RawFileUnusable:
    return RawFileUnusable(file=path, reason=reason, source="CoNLL-2012")
