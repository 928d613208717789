"""Synonyms for PDALN's distorted sentences: from WordNet if it is installed, else from a small list.

WordNet is read from its database files, as in Debian's ``wordnet-base`` and NLTK's data, or from the
database of the package ``wn``. If the environment variable WNSEARCHDIR is set, only its folder is read.
"""

from __future__ import annotations

import os
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from adaptner.errors import FileUnreadable

_DEBIAN = Path("/usr/share/wordnet")
_PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
_NLTK = ("~/nltk_data", "/usr/share/nltk_data", "/usr/local/share/nltk_data", "/usr/lib/nltk_data")
# For the database of ``wn``: all senses of English words, the commonest sense of each entry first.
_SENSES = """
SELECT senses.entry_rowid, forms.form, senses.synset_rowid FROM senses
JOIN forms ON forms.entry_rowid = senses.entry_rowid AND forms.rank = 0
JOIN lexicons ON lexicons.rowid = senses.lexicon_rowid
WHERE lexicons.language = 'en' OR lexicons.language LIKE 'en-%'
ORDER BY senses.entry_rowid, senses.entry_rank, senses.rowid
"""


@dataclass(frozen=True)
class Synonyms:
    """Synonyms by lower-case word. A tagger's facts record their ``origin``."""

    origin: str
    words: Mapping[str, tuple[str, ...]]

    def of(self, word: str) -> tuple[str, ...]:
        """The synonyms of a word, capitalised if it is."""
        found = self.words.get(word.lower(), ())
        return tuple(w.capitalize() for w in found) if word[:1].isupper() else found


@cache
def find_synonyms() -> Synonyms:
    """The synonyms of WordNet or, if it is not installed, of the built-in list."""
    for folder in _folders():
        if all(
            (folder / f"{part}.{kind}").is_file()
            for part in ("index", "data")
            for kind in _PARTS_OF_SPEECH
        ):
            return Synonyms(f"WordNet in {folder}", _wordnet(folder))
    database = Path(os.environ.get("WN_DATA_DIR", "~/.wn_data")).expanduser() / "wn.db"
    if "WNSEARCHDIR" not in os.environ and database.is_file() and (words := _wn(database)):
        return Synonyms(f"WordNet in {database}", words)
    return built_in()


def built_in() -> Synonyms:
    """The package's list of about 180 groups of synonyms, one group in a line."""
    file = resources.files("adaptner.methods.pdaln").joinpath("synonyms.txt")
    text = file.read_text(encoding="utf-8")
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
        archive = corpora / "wordnet.zip"
        if archive.is_file():  # NLTK's downloader may leave it compressed
            yield zipfile.Path(archive, "wordnet/")


def _wordnet(folder: Path | zipfile.Path) -> dict[str, tuple[str, ...]]:
    """For each word and part of speech, the other single words of the synset of its commonest sense.

    The format is described in wndb(5WN); index files list the commonest sense first."""
    found: dict[str, dict[str, None]] = {}
    for kind in _PARTS_OF_SPEECH:
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


def _wn(database: Path) -> dict[str, tuple[str, ...]]:
    """The same from the database of ``wn``; empty if it has no English WordNet."""
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute(_SENSES).fetchall()
    except sqlite3.Error as error:
        raise FileUnreadable(file=database, reason=str(error)) from error
    groups: dict[int, list[str]] = {}
    first: dict[int, tuple[str, int]] = {}  # the commonest sense of each entry
    for entry, form, group in rows:
        first.setdefault(entry, (form.lower(), group))
        if " " not in form:
            groups.setdefault(group, []).append(form.lower())
    found: dict[str, dict[str, None]] = {}
    for word, group in first.values():
        others = [w for w in groups.get(group, ()) if w != word]
        if others and " " not in word:
            found.setdefault(word, {}).update(dict.fromkeys(others))
    return _sorted(found)


def _lines(file: Path | zipfile.Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("  "):  # lines of the licence do
                yield line


def _sorted(found: Mapping[str, Mapping[str, None]]) -> dict[str, tuple[str, ...]]:
    return {word: tuple(sorted(others)) for word, others in found.items()}
