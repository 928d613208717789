"""Tests of raw text: plain and compressed files, folders, long lines, and damaged files."""

from __future__ import annotations

import gzip
import lzma
import random

import pytest

from adaptner.corpora import raw_text
from adaptner.corpora.raw_text import find_text_files, read_sentences
from adaptner.errors import (
    DamagedArchive,
    EmptyFile,
    FileMissing,
    FileUnreadable,
    NulCharacter,
    UnknownFormat,
    WrongEncoding,
)

TEXT = "IL-2  binds\tβ1 .\n\n \u00a0\nThe naïve\u2003cell\r\nlast 日本"
EXPECTED = ["IL-2 binds β1 .", "The naïve cell", "last 日本"]
PACK = {".txt": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".XZ": lzma.compress}


def noise(seed: int) -> bytes:
    """Text that hardly compresses."""
    rng = random.Random(seed)
    words = ("".join(rng.choices("abcdefgh", k=6)) for _ in range(20_000))
    return " ".join(w if i % 9 else f"{w}\n" for i, w in enumerate(words)).encode()


@pytest.mark.parametrize("ending", PACK)
def test_tokens_are_separated_by_one_space(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.write_bytes(PACK[ending](TEXT.encode()))
    positions: list[int] = []
    assert list(read_sentences(path, on_read=positions.append)) == EXPECTED
    assert positions[-1] <= path.stat().st_size
    assert positions == sorted(positions)


def test_untokenised_text_is_tokenised(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("IL-2 (10 µg).\n", encoding="utf-8")
    assert list(read_sentences(path, tokenised=False)) == ["IL - 2 ( 10 µg ) ."]


def test_concatenated_archives_are_read(tmp_path):
    for ending in (".gz", ".xz"):
        path = tmp_path / f"t{ending}"
        path.write_bytes(PACK[ending](b"one\n") + PACK[ending](b"two\n"))
        assert list(read_sentences(path)) == ["one", "two"]


@pytest.mark.parametrize("ending", [".txt", ".xz"])
def test_long_lines_are_cut_at_a_space(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(raw_text, "_MAX_LINE_BYTES", 50)
    words = [f"{'日' * (i % 5 + 1)}{i}" for i in range(100)]
    path = tmp_path / f"t{ending}"
    path.write_bytes(PACK[ending]((" ".join(words) + "\nshort line\n").encode()))
    found = list(read_sentences(path))
    assert " ".join(found) == " ".join([*words, "short line"])
    assert found[-1] == "short line"
    assert max(len(line.encode()) for line in found) <= 50
    path.write_bytes(PACK[ending](b"ok\n" + b"a" * 51 + b"\n"))
    with pytest.raises(FileUnreadable, match="line 2 has"):
        list(read_sentences(path))


def test_find_text_files_in_folders_without_hidden_ones(tmp_path):
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "a" / ".hidden").mkdir()
    for name in ("b.txt", "deep/c.txt.gz", "d.XZ", "notes.md", ".e.txt", ".hidden/f.txt"):
        (tmp_path / "a" / name).write_bytes(b"")
    (tmp_path / "z.txt").write_bytes(b"")
    found = find_text_files([tmp_path / "z.txt", tmp_path / "a"])
    assert [str(p.relative_to(tmp_path)) for p in found] == [
        "z.txt", "a/b.txt", "a/d.XZ", "a/deep/c.txt.gz",
    ]  # fmt: skip


def test_find_text_files_raises_for_other_files(tmp_path):
    (tmp_path / "t.pdf").write_bytes(b"")
    with pytest.raises(UnknownFormat, match=r"\.txt, \.gz, \.xz") as caught:
        find_text_files([tmp_path / "t.pdf"])
    assert caught.value.exit_code == 2
    with pytest.raises(EmptyFile):
        find_text_files([tmp_path])
    with pytest.raises(FileMissing):
        find_text_files([tmp_path / "none.txt"])


@pytest.mark.parametrize("ending", [".gz", ".xz"])
@pytest.mark.parametrize("damage", ["cut", "empty", "not compressed", "flipped", "head only"])
def test_damaged_archive_raises(tmp_path, ending, damage):
    content = PACK[ending](noise(1))
    middle = len(content) // 2
    content = {
        "cut": content[:middle],
        "empty": b"\x1f" if ending == ".gz" else b"\xfd7",
        "not compressed": b"plain text\n" * 10,
        "flipped": content[:middle] + bytes(b ^ 255 for b in content[middle : middle + 40]) + content[middle + 40 :],
        "head only": content[:11],
    }[damage]  # fmt: skip
    path = tmp_path / f"t{ending}"
    path.write_bytes(content)
    with pytest.raises(DamagedArchive) as caught:
        list(read_sentences(path))
    assert caught.value.file == str(path)


def test_invalid_bytes_raise_with_the_line(tmp_path):
    path = tmp_path / "t.xz"
    path.write_bytes(lzma.compress(b"fine\nb\xffd\n"))
    with pytest.raises(WrongEncoding, match=r"t\.xz:2:"):
        list(read_sentences(path))
    path.write_bytes(lzma.compress(b"fine\n\nnul\0\n"))
    with pytest.raises(NulCharacter, match=r"t\.xz:3:"):
        list(read_sentences(path))
