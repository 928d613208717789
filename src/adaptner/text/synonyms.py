"""Words that may stand for one another: WordNet's where it is installed, else a small list of ours.

WordNet is read from its own files, as Debian's ``wordnet-base`` and NLTK's data have them. The variable
WNSEARCHDIR, WordNet's own, names another folder; it is then the only one looked into.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

_DEBIAN = Path("/usr/share/wordnet")
_KINDS = ("noun", "verb", "adj", "adv")
_NLTK = ("~/nltk_data", "/usr/share/nltk_data", "/usr/local/share/nltk_data", "/usr/lib/nltk_data")


@dataclass(frozen=True)
class Synonyms:
    """``origin`` says where they are from; a model that they helped to make keeps it."""

    origin: str
    words: Mapping[str, tuple[str, ...]]  # lower case

    def of(self, word: str) -> tuple[str, ...]:
        """Other words for it, in its case; none where none is known."""
        found = self.words.get(word.lower(), ())
        return tuple(w.capitalize() for w in found) if word[:1].isupper() else found


@cache
def find_synonyms() -> Synonyms:
    """WordNet's where it is found, else the built-in list."""
    for folder in _folders():
        if all(
            (folder / f"{part}.{kind}").is_file() for part in ("index", "data") for kind in _KINDS
        ):
            return Synonyms(f"WordNet in {folder}", _wordnet(folder))
    return built_in()


def built_in() -> Synonyms:
    """A list of about 180 groups that comes with the package, a group a line."""
    text = resources.files("adaptner.text").joinpath("synonyms.txt").read_text(encoding="utf-8")
    found: dict[str, dict[str, None]] = {}
    for group in (line.split() for line in text.splitlines()):
        for word in group:
            found.setdefault(word, {}).update(dict.fromkeys(w for w in group if w != word))
    return Synonyms("a small built-in list (no WordNet is installed)", _sorted(found))


def _folders() -> Iterator[Path | zipfile.Path]:
    named = os.environ.get("WNSEARCHDIR")
    if named is not None:
        yield Path(named)
        return
    yield _DEBIAN
    for place in (*os.environ.get("NLTK_DATA", "").split(os.pathsep), *_NLTK):
        corpora = Path(place).expanduser() / "corpora"
        yield corpora / "wordnet"
        if (archive := corpora / "wordnet.zip").is_file():  # as NLTK's downloader leaves it
            yield zipfile.Path(archive, "wordnet/")


def _wordnet(folder: Path | zipfile.Path) -> dict[str, tuple[str, ...]]:
    """Of each part of speech the commonest sense (index.* lists senses so): the other single words of
    its synset (wndb(5WN))."""
    found: dict[str, dict[str, None]] = {}
    for kind in _KINDS:
        groups: dict[str, list[str]] = {}
        for line in _lines(folder / f"data.{kind}"):
            place, _, _, count, *rest = line.split(" ")
            names = rest[: 2 * int(count, 16) : 2]
            groups[place] = [n.partition("(")[0].lower() for n in names if "_" not in n]
        for line in _lines(folder / f"index.{kind}"):
            parts = line.split()
            word, senses = parts[0], int(parts[2])
            others = [w for w in groups[parts[-senses]] if w != word]
            if others and "_" not in word:
                found.setdefault(word, {}).update(dict.fromkeys(others))
    return _sorted(found)


def _lines(file: Path | zipfile.Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("  "):  # the licence
                yield line


def _sorted(found: Mapping[str, Mapping[str, None]]) -> dict[str, tuple[str, ...]]:
    return {word: tuple(sorted(others)) for word, others in found.items()}
