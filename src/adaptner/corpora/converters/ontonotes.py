"""Converts the names in OntoNotes 5.0, in the column files of CoNLL-2012, to BIO.

The columns are the document, the part, the number of the word, the word, and so on; the eleventh
column brackets the names: ``(PERSON*``, ``*``, ``*)``, ``(GPE)``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from adaptner.corpora.converters.folders import ConversionProgress, ConversionResult
from adaptner.corpora.converters.sentences import Splits, TaggedTokens
from adaptner.corpora.corpus import SPLITS
from adaptner.errors import RawFilesMissing, RawFileUnusable
from adaptner.formats.lines import decode_line, open_for_reading
from adaptner.progress import no_progress

NAME = "general/ontonotes5"

_WORD, _NAMES, _MIN_COLUMNS = 3, 10, 12
_SPLITS = {"train": "train", "development": "dev", "dev": "dev", "test": "test"}
_BRACKETS = dict(zip(["-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"], "()[]{}", strict=True))
_CELL = re.compile(r"(\((?P<opened>[^()*]+))?\*?(?P<closed>\))?")
_WITHOUT_NAMES = "pt"  # In the New Testament, names are not annotated.
_LAYOUT = (
    "give the folder of the CoNLL-2012 files made from OntoNotes 5.0, which contains the folders "
    "train, development, and test with files that end in gold_conll"
)


def convert_ontonotes(folder: Path, progress: ConversionProgress = no_progress) -> ConversionResult:
    """Converts the English files in ``folder``; their parent folders name the splits."""
    files = _files(folder)
    if not files:
        raise RawFilesMissing(file=folder, what="CoNLL-2012 file", layout=_LAYOUT)
    names = {split for _, split in files}
    splits: Splits = {split: [] for split in SPLITS if split in names}
    left_out: Counter[str] = Counter()
    for number, (path, split) in enumerate(files, start=1):
        for genre, sentence in _sentences(path):
            if genre == _WITHOUT_NAMES:
                left_out["sentences of the New Testament, in which names are not annotated"] += 1
            else:
                splits[split].append(sentence)
        progress(number, len(files))
    return ConversionResult({NAME: splits}, left_out)


def _files(folder: Path) -> list[tuple[Path, str]]:
    """Returns the newest file of each document and its split (v9_gold_conll sorts after v4)."""
    newest: dict[tuple[Path, str], tuple[Path, str]] = {}
    for path in sorted(folder.rglob("*gold_conll")):
        split = _split(path, folder)
        if split is not None:
            newest[path.parent, path.name.partition(".")[0]] = path, split
    return list(newest.values())


def _split(path: Path, folder: Path) -> str | None:
    """Returns the split of a file, or None for another language."""
    parts = [part.lower() for part in path.relative_to(folder).parts[:-1]]
    if {"arabic", "chinese"} & set(parts):
        return None
    found = [_SPLITS[part] for part in parts if part in _SPLITS]
    return found[0] if found else None


def _sentences(path: Path) -> Iterator[tuple[str, TaggedTokens]]:
    """Yields each sentence with its genre, the first part of the name of its document."""
    words: list[str] = []
    tags: list[str] = []
    genre = ""
    open_type = ""  # type of the name that is not closed yet
    with open_for_reading(path) as file:
        for number, raw in enumerate(file, start=1):
            line = decode_line(raw, path, number).strip()
            if line and not line.startswith("#"):
                columns = line.split()
                if len(columns) < _MIN_COLUMNS:
                    reason = (
                        f"line {number} has {len(columns)} columns, but CoNLL-2012 has at least "
                        f"{_MIN_COLUMNS}"
                    )
                    raise _unusable(path, reason)
                genre = columns[0].partition("/")[0]
                words.append(_word(columns[_WORD], path))
                tag, open_type = _tag(columns[_NAMES], open_type, path, number)
                tags.append(tag)
                continue
            if open_type:
                raise _unusable(path, f"the name before line {number} is not closed")
            if words:
                yield genre, TaggedTokens(tuple(words), tuple(tags))
                words, tags = [], []
    if words:
        yield genre, TaggedTokens(tuple(words), tuple(tags))


def _tag(cell: str, open_type: str, path: Path, number: int) -> tuple[str, str]:
    """Returns the BIO tag of a cell and the type of the name that is open after it."""
    match = _CELL.fullmatch(cell)
    if (
        match is None
        or (match["opened"] and open_type)
        or (match["closed"] and not (match["opened"] or open_type))
    ):
        raise _unusable(path, f"line {number}: unexpected bracket {cell!r}")
    label = match["opened"] or open_type
    tag = f"B-{label}" if match["opened"] else f"I-{label}" if open_type else "O"
    return tag, "" if match["closed"] else label


def _word(word: str, path: Path) -> str:
    """Returns the original word: the files write brackets as -LRB- and punctuation with a slash."""
    if word == "[WORD]":
        raise _unusable(path, "it contains no words; run skeleton2conll.sh first")
    if len(word) == 2 and word[0] == "/" and word[1] in ".?!-,":
        return word[1]
    return _BRACKETS.get(word, word)


def _unusable(path: Path, reason: str) -> RawFileUnusable:
    return RawFileUnusable(file=path, reason=reason, source="CoNLL-2012")
