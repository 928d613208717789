"""Reads raw text of any size from plain or compressed files, one line at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from adaptner.errors import EmptyFile, FileMissing, FileUnreadable, UnknownFormat
from adaptner.formats.lines import decode_line, decompressed, open_for_reading
from adaptner.progress import ProgressCallback, no_progress
from adaptner.text.tokenizer import tokenize

ENDINGS = (".txt", ".gz", ".xz")
_KNOWN = ", ".join(ENDINGS)
_PROGRESS_EVERY = 10_000  # sentences
_MAX_LINE_BYTES = 1 << 24  # Longer lines are cut at a space to bound memory.

BytesReadCallback = Callable[[int], None]  # called with the number of bytes read from the file


def find_text_files(paths: Sequence[Path]) -> list[Path]:
    """Returns the files in ``paths`` and, in order, in the folders in ``paths``, except hidden ones."""
    found = []
    for path in paths:
        if path.is_dir():
            in_folder = sorted(p for p in path.rglob("*") if _is_text(p, path))
            if not in_folder:
                raise EmptyFile(file=path, unit=f"file ending in {_KNOWN}")
            found += in_folder
        elif not path.exists():
            raise FileMissing(file=path, hint=f"give text files ({_KNOWN}) or folders of them")
        elif path.suffix.lower() not in ENDINGS:
            raise UnknownFormat(file=path, given=f"of raw text {path.name!r}", known=_KNOWN)
        else:
            found.append(path)
    return found


def read_sentences(
    path: Path, *, tokenised: bool = True, on_read: BytesReadCallback = lambda _: None
) -> Iterator[str]:
    """Yields the non-empty lines of a file with one space between tokens.

    ``tokenised``: the tokens are separated by white space; otherwise our tokeniser finds them.
    """
    for line in read_lines(path, on_read):
        words = line.split() if tokenised else [line[a:b] for a, b in tokenize(line)]
        if words:
            yield " ".join(words)


def sentences_of_files(
    texts: Sequence[Path], progress: ProgressCallback = no_progress, *, tokenised: bool = True
) -> Iterator[str]:
    """Yields the sentences of all files; ``progress`` is called with the percentage read."""
    files = find_text_files(texts)
    sizes = [path.stat().st_size for path in files]
    previous_files = bytes_read = count = 0

    def on_read(position: int) -> None:
        nonlocal bytes_read
        bytes_read = previous_files + position

    for path, size in zip(files, sizes, strict=True):
        for sentence in read_sentences(path, tokenised=tokenised, on_read=on_read):
            yield sentence
            count += 1
            if count % _PROGRESS_EVERY == 1:
                progress(100 * bytes_read // max(1, sum(sizes)), 100, f"{count:,} sentences")
        previous_files += size


def read_lines(path: Path, on_read: BytesReadCallback = lambda _: None) -> Iterator[str]:
    """Yields the lines of a file, with empty ones and without line endings."""
    with open_for_reading(path) as raw, decompressed(path, raw) as file:
        rest, number = b"", 1
        while line := rest + file.readline(_MAX_LINE_BYTES - len(rest)):
            rest = b""
            complete = line.endswith(b"\n")
            if not complete and len(line) >= _MAX_LINE_BYTES:
                cut = line.rfind(b" ") + 1
                if not cut:
                    reason = f"line {number} has {len(line):,} bytes without a space"
                    raise FileUnreadable(file=path, reason=reason)
                line, rest = line[:cut], line[cut:]
            yield decode_line(line, path, number)
            number += complete
            on_read(raw.tell())


def _is_text(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not hidden and path.suffix.lower() in ENDINGS and path.is_file()
