"""Raw text of any size: plain or compressed files, a line at a time, never whole in memory."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from adaptner.errors import DamagedArchive, EmptyFile, FileMissing, FileUnreadable, UnknownFormat
from adaptner.formats.lines import decode_line, open_for_reading
from adaptner.progress import ProgressCallback, no_progress
from adaptner.text.tokenizer import tokenize

ENDINGS = (".txt", ".gz", ".xz")
_KNOWN = ", ".join(ENDINGS)
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
_TELL_EVERY = 10_000  # sentences
_LONGEST_LINE = 1 << 24  # bytes; longer ones are cut at a space, so that memory is bounded

BytesReadCallback = Callable[[int], None]  # told how many bytes of a file have been read


def find_text_files(paths: Sequence[Path]) -> list[Path]:
    """The files given and those in the folders given, in order; hidden ones are left alone."""
    found = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if _is_text(p, path))
            if not inside:
                raise EmptyFile(file=path, unit=f"file ending in {_KNOWN}")
            found += inside
        elif not path.exists():
            raise FileMissing(file=path, hint=f"give text files ({_KNOWN}) or folders of them")
        elif path.suffix.lower() not in ENDINGS:
            raise UnknownFormat(file=path, given=f"of raw text {path.name!r}", known=_KNOWN)
        else:
            found.append(path)
    return found


def read_sentences(
    path: Path, *, tokenised: bool = True, passed: BytesReadCallback = lambda _: None
) -> Iterator[str]:
    """The lines of a file with their words parted by one space; empty ones are left out.

    ``tokenised``: words are parted already; otherwise our tokenizer does it."""
    for line in read_lines(path, passed):
        words = line.split() if tokenised else [line[a:b] for a, b in tokenize(line)]
        if words:
            yield " ".join(words)


def sentences_of_files(
    texts: Sequence[Path], progress: ProgressCallback = no_progress, *, tokenised: bool = True
) -> Iterator[str]:
    """The sentences of all the files, one file after another; ``watch`` is told the share read."""
    files = find_text_files(texts)
    sizes = [path.stat().st_size for path in files]
    before = reached = count = 0

    def passed(position: int) -> None:
        nonlocal reached
        reached = before + position

    for path, size in zip(files, sizes, strict=True):
        for sentence in read_sentences(path, tokenised=tokenised, passed=passed):
            yield sentence
            count += 1
            if count % _TELL_EVERY == 1:
                progress(100 * reached // max(1, sum(sizes)), 100, f"{count:,} sentences")
        before += size


def read_lines(path: Path, passed: BytesReadCallback = lambda _: None) -> Iterator[str]:
    """The lines of a file, empty ones too."""
    with open_for_reading(path) as raw, _unpacked(path, raw) as file:
        rest, number = b"", 1
        while line := rest + file.readline(_LONGEST_LINE - len(rest)):
            rest = b""
            whole = line.endswith(b"\n")
            if not whole and len(line) >= _LONGEST_LINE:
                cut = line.rfind(b" ") + 1
                if not cut:
                    reason = f"line {number} holds {len(line):,} bytes without a space"
                    raise FileUnreadable(file=path, reason=reason)
                line, rest = line[:cut], line[cut:]
            yield decode_line(line, path, number)
            number += whole
            passed(raw.tell())


def _is_text(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not hidden and path.suffix.lower() in ENDINGS and path.is_file()


@contextmanager
def _unpacked(path: Path, raw: BinaryIO) -> Iterator[BinaryIO]:
    """What the file holds, and one of our errors for a file that is not whole."""
    ending = path.suffix.lower()
    try:
        if ending == ".gz":
            yield cast(BinaryIO, BufferedReader(gzip.GzipFile(fileobj=raw)))  # type: ignore[arg-type]
        elif ending == ".xz":
            yield cast(BinaryIO, BufferedReader(lzma.LZMAFile(raw)))  # type: ignore[arg-type]  # noqa: SIM115
        else:
            yield raw
    except _DAMAGE as error:
        tool = "xz" if ending == ".xz" else "gzip"
        raise DamagedArchive(file=path, reason=str(error) or "cut off", tool=tool) from error
    except OSError as error:
        raise FileUnreadable(file=path, reason=error.strerror or str(error)) from error
