"""Synonyms from WordNet's files, from the database of ``wn`` and from the built-in list."""

from __future__ import annotations

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from adaptner.errors import FileUnreadable
from adaptner.methods.pdaln import synonyms as module
from adaptner.methods.pdaln.synonyms import Synonyms, built_in, find_synonyms

LICENCE = "  1 The licence: each of its lines starts with two spaces.\n"
DATA = {
    "noun": [
        "00000010 03 n 03 kitten 0 kitty 0 young_cat 0 001 @ 00000020 n 0000 | small and furry",
        "00000020 03 n 02 cat 0 feline 0 000 | larger and furry",
        "00000030 03 n 02 kitty 1 pool 0 000 | a sum of money",
    ],
    "verb": ["00000040 29 v 02 run 0 dash 0 000 01 + 02 00 | move"],
    "adj": ["00000050 00 s 02 wooden(a) 0 ligneous(p) 0 000 | of wood"],
    "adv": ["00000060 02 r 01 away 0 000 | at a distance"],
}
INDEX = {
    "noun": [
        "kitten n 1 1 @ 1 0 00000010",
        "kitty n 2 1 @ 2 1 00000030 00000010",  # the commoner sense is the pool of money
        "young_cat n 1 0 1 0 00000010",
        "cat n 1 0 1 1 00000020",
        "feline n 1 0 1 1 00000020",
        "pool n 1 0 1 1 00000030",
    ],
    "verb": ["run v 1 0 1 1 00000040", "dash v 1 0 1 1 00000040"],
    "adj": ["wooden a 1 0 1 1 00000050", "ligneous a 1 0 1 1 00000050"],
    "adv": ["away r 1 0 1 1 00000060"],
}


@pytest.fixture
def wordnet(tmp_path: Path) -> Path:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for part, content in (("data", DATA), ("index", INDEX)):
        for kind, lines in content.items():
            text = LICENCE + "".join(f"{line}  \n" for line in lines)
            (folder / f"{part}.{kind}").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def _no_cached_synonyms() -> None:
    find_synonyms.cache_clear()


def assert_synonyms_of_wordnet(found: Synonyms) -> None:
    assert found.of("kitten") == ("kitty",)  # not young_cat: single words only
    assert found.of("Kitty") == ("Pool",)  # of the commonest sense only
    assert found.of("feline") == ("cat",)
    assert found.of("run") == ("dash",)
    assert found.of("wooden") == ("ligneous",)
    assert found.of("away") == found.of("young_cat") == found.of("sesquipedalian") == ()


def test_wnsearchdir_names_the_folder_of_wordnet(wordnet, monkeypatch):
    monkeypatch.setenv("WNSEARCHDIR", str(wordnet))
    found = find_synonyms()
    assert found.origin == f"WordNet in {wordnet}"
    assert_synonyms_of_wordnet(found)


@pytest.mark.parametrize("zipped", [False, True])
def test_wordnet_is_found_in_the_data_of_nltk(wordnet, zipped, monkeypatch, tmp_path):
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr(module, "_DEBIAN", tmp_path / "none")
    corpora = tmp_path / "nltk_data" / "corpora"
    corpora.mkdir(parents=True)
    if zipped:
        with zipfile.ZipFile(corpora / "wordnet.zip", "w") as archive:
            for file in wordnet.iterdir():
                archive.write(file, f"wordnet/{file.name}")
    else:
        wordnet.rename(corpora / "wordnet")
    monkeypatch.setenv("NLTK_DATA", str(corpora.parent))
    assert_synonyms_of_wordnet(find_synonyms())


# The part of the schema of ``wn`` that is read.
WN = """
CREATE TABLE lexicons (rowid INTEGER PRIMARY KEY, language TEXT);
CREATE TABLE forms (entry_rowid INTEGER, form TEXT, rank INTEGER);
CREATE TABLE senses (rowid INTEGER PRIMARY KEY, lexicon_rowid INTEGER, entry_rowid INTEGER,
    entry_rank INTEGER, synset_rowid INTEGER);
"""


def wn_database(folder: Path, language: str) -> Path:
    """The WordNet above in the format of the package ``wn``, and one word of another language."""
    with closing(sqlite3.connect(folder / "wn.db")) as db, db:
        db.executescript(WN)
        db.executemany("INSERT INTO lexicons VALUES (?, ?)", [(1, language), (2, "nb")])
        entry = 0
        for lines in INDEX.values():
            for line in lines:
                entry += 1
                word, _, count, *rest = line.split()
                db.execute("INSERT INTO forms VALUES (?, ?, 0)", (entry, word.replace("_", " ")))
                db.execute("INSERT INTO forms VALUES (?, ?, 1)", (entry, f"{word}s"))
                for rank, synset in reversed(list(enumerate(rest[-int(count) :], 1))):
                    row = (entry, rank, int(synset))
                    db.execute("INSERT INTO senses VALUES (NULL, 1, ?, ?, ?)", row)
        db.execute("INSERT INTO forms VALUES (99, 'katt', 0)")
        db.execute("INSERT INTO senses VALUES (NULL, 2, 99, 1, 20)")
    return folder / "wn.db"


def test_database_of_wn_is_read_unless_wnsearchdir_is_set(monkeypatch, tmp_path):
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr(module, "_folders", lambda: ())
    monkeypatch.setenv("WN_DATA_DIR", str(tmp_path))
    assert find_synonyms() == built_in()
    database = wn_database(tmp_path, "en")
    find_synonyms.cache_clear()
    found = find_synonyms()
    assert found.origin == f"WordNet in {database}"
    assert_synonyms_of_wordnet(found)
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    find_synonyms.cache_clear()
    assert find_synonyms() == built_in()


def test_database_of_wn_without_english_or_damaged(monkeypatch, tmp_path):
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr(module, "_folders", lambda: ())
    monkeypatch.setenv("WN_DATA_DIR", str(tmp_path))
    wn_database(tmp_path, "de")
    assert find_synonyms() == built_in()
    (tmp_path / "wn.db").write_bytes(b"no database at all, and long enough to be seen as none" * 9)
    find_synonyms.cache_clear()
    with pytest.raises(FileUnreadable, match=r"wn\.db"):
        find_synonyms()


def test_without_wordnet_the_built_in_list_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    found = find_synonyms()
    assert found == built_in()
    assert "built-in" in found.origin
    assert found.of("Rapidly") == ("Quickly", "Swiftly")


def test_built_in_list_is_symmetric():
    words = built_in().words
    assert len(words) > 400
    assert all(others and word not in others for word, others in words.items())
    assert all(word in words[other] for word, others in words.items() for other in others)
