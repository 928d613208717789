"""Words that may stand for one another: WordNet's where it is installed, else a small list of ours.

WordNet is read from its own files, as Debian's ``wordnet-base`` and NLTK's data have them, or from the
database of the package ``wn``. The variable WNSEARCHDIR, WordNet's own, names another folder; it is then
the only one looked into.
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
_KINDS = ("noun", "verb", "adj", "adv")
_NLTK = ("~/nltk_data", "/usr/share/nltk_data", "/usr/local/share/nltk_data", "/usr/lib/nltk_data")
# Of the package ``wn``: every sense of English words, a word's (of one part of speech) commonest first.
_SENSES = """
SELECT senses.entry_rowid, forms.form, senses.synset_rowid FROM senses
JOIN forms ON forms.entry_rowid = senses.entry_rowid AND forms.rank = 0
JOIN lexicons ON lexicons.rowid = senses.lexicon_rowid
WHERE lexicons.language = 'en' OR lexicons.language LIKE 'en-%'
ORDER BY senses.entry_rowid, senses.entry_rank, senses.rowid
"""


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
    database = Path(os.environ.get("WN_DATA_DIR", "~/.wn_data")).expanduser() / "wn.db"
    if "WNSEARCHDIR" not in os.environ and database.is_file() and (words := _wn(database)):
        return Synonyms(f"WordNet in {database}", words)
    return built_in()


def built_in() -> Synonyms:
    """A list of about 180 groups that comes with the package, a group a line."""
    text = (
        resources.files("adaptner.methods.pdaln")
        .joinpath("synonyms.txt")
        .read_text(encoding="utf-8")
    )
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


def _wn(database: Path) -> dict[str, tuple[str, ...]]:
    """The same of ``wn``'s database; nothing where it has no English."""
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute(_SENSES).fetchall()
    except sqlite3.Error as error:
        raise FileUnreadable(file=database, reason=str(error)) from error
    groups: dict[int, list[str]] = {}
    first: dict[int, tuple[str, int]] = {}  # of each word, by part of speech
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
            if not line.startswith("  "):  # the licence
                yield line


def _sorted(found: Mapping[str, Mapping[str, None]]) -> dict[str, tuple[str, ...]]:
    return {word: tuple(sorted(others)) for word, others in found.items()}
